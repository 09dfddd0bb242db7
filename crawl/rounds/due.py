"""`--if-due`: a phase as a scheduler's task, which is called again when in doubt.

Without it a phase that has nothing to do is a fault of whoever calls it. A scheduler calls
by a plan: it is to go on where the crawl stands, and to do nothing that was done before. Operations
that are no step of a round (`invertlinks`, `dedup` …) know themselves what is left to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawl.config import Config
from crawl.errors import NOTHING_MORE, UsageError
from crawl.operations.registry import operations_of
from crawl.rounds.state import segment_states
from crawl.rounds.steps import STOP_FILE, RoundOptions, SegmentState, build_round, open_segments
from crawl.storage.crawl_dir import CrawlDir


@dataclass(frozen=True, slots=True)
class DueWork:
    """The segments that a phase is to work on; or, where it has nothing to do, the exit code
    and the reason."""

    segments: tuple[str, ...] = ()
    code: int | None = None
    reason: str = ""


def due_work(phase: str, states: Iterable[SegmentState], *, stopped: bool) -> DueWork:
    """The work of a phase in a crawl with these segments, oldest first."""
    if stopped:
        return DueWork(code=NOTHING_MORE, reason=f"{STOP_FILE} exists")
    unfinished = open_segments(states)
    a_round = build_round(RoundOptions())
    if phase == a_round.generate.name:
        if not unfinished:
            return DueWork()
        names = ", ".join(segment.name for segment in unfinished)
        return DueWork(code=0, reason=f"{names} must be finished first")
    (step,) = [step for step in a_round.steps if step.name == phase]
    segments = tuple(segment.name for segment in unfinished if segment.stage in step.takes)
    if not segments:
        return DueWork(code=0, reason="already done")
    # one update takes them all; the other phases are for one segment
    return DueWork(segments if step is a_round.updatedb else segments[:1])


def find_due_work(phase: str, crawl_dir: str, config: Config, named: Iterable[str] = ()) -> DueWork:
    """The work of a phase in the crawl as it is now. Wrong settings are an error even where there
    is none."""
    directory = CrawlDir(crawl_dir)
    _check_settings(phase, config)
    if any(named):
        raise UsageError("--if-due finds the segments itself: name none")
    directory.require_crawldb()
    return due_work(phase, segment_states(directory), stopped=directory.folder.exists(STOP_FILE))


def _check_settings(phase: str, config: Config) -> None:
    (operation,) = operations_of(phase)
    assert operation.check is not None
    operation.check(config, operation.options())
