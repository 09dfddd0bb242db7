"""`--if-due`: a phase as a scheduler's task, which is called again when in doubt.

Without it a phase that has nothing to do is a fault of whoever calls it. A scheduler calls
by a plan: it is to go on where the crawl stands, and to do nothing that was done before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import click

from crawl.cli.output import remark
from crawl.errors import UsageError
from crawl.rounds import (
    NOTHING_MORE,
    STOP_FILE,
    RoundOptions,
    SegmentState,
    Step,
    build_round,
    open_segments,
)
from crawl.rounds.state import segment_states
from crawl.storage.crawl_dir import CrawlDir

if_due_option = click.option(
    "--if-due",
    is_flag=True,
    help="For schedulers: whatever was begun is finished before anything new, what is done"
    f" already is no fault; exit code {NOTHING_MORE} where nothing more is to be done.",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """Whether it is a phase's turn: the segments it is for, or the exit code and why."""

    segments: tuple[str, ...] = ()
    code: int | None = None
    why: str = ""


def turn_of(phase: str, found: Iterable[SegmentState], *, stopped: bool) -> Turn:
    """What a phase is to do in a crawl with these segments, oldest first."""
    if stopped:
        return Turn(code=NOTHING_MORE, why=f"there is a file {STOP_FILE}")
    unfinished = open_segments(found)
    a_round = build_round(RoundOptions())
    if phase == a_round.generate.name:
        if not unfinished:
            return Turn()
        return Turn(code=0, why=f"{_names(unfinished)} is to be finished first")
    (step,) = [step for step in a_round.steps if step.name == phase]
    taken = _taken(step, unfinished)
    if not taken:
        return Turn(code=0, why="nothing to do, it is done already")
    # one update takes them all; the other phases are for one segment
    return Turn(taken if step is a_round.updatedb else taken[:1])


def take_turn(phase: str, directory: CrawlDir, named: Iterable[str] = ()) -> Turn:
    """The same of the crawl as it is now; why there is nothing to do is told."""
    if any(named):
        raise UsageError("--if-due finds the segments itself: name none")
    if phase != "generate":
        directory.require_crawldb()
    turn = turn_of(phase, segment_states(directory), stopped=directory.folder.exists(STOP_FILE))
    if turn.code is not None:
        remark(f"{phase}: {turn.why}")
    return turn


def _taken(step: Step, segments: Iterable[SegmentState]) -> tuple[str, ...]:
    return tuple(segment.name for segment in segments if segment.stage in step.takes)


def _names(segments: Iterable[SegmentState]) -> str:
    return ", ".join(segment.name for segment in segments)
