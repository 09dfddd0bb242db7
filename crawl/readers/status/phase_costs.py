"""What the phases of the last round did and cost, from their reports, as plain values.

A report that is damaged, gone or of a version that counted less leaves its figures unknown (None):
that a phase was run is known without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from crawl.clock import as_text
from crawl.errors import StorageError
from crawl.model.costs import EngineCosts
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, GENERATE, PARSE, Segment

Notice = Callable[[str], None]

_SEGMENT_PHASES = {GENERATE: "generate", FETCH: "fetch", PARSE: "parse"}
_LAST_MOMENT_MS = 253_402_300_799_000
"""The year 9999: a report may say anything."""


@dataclass(frozen=True, slots=True)
class _PhaseRun:
    """One run of a phase, of which several reports may tell."""

    phase: str
    started_ms: int
    """When it began; when it was published, where the report does not tell."""
    segments: tuple[str, ...]
    report: dict[str, Any]

    def is_part_of(self, other: _PhaseRun) -> bool:
        """Whether the other one made the same segment."""
        return self.phase == other.phase and not set(self.segments).isdisjoint(other.segments)

    def as_dict(self) -> dict[str, Any]:
        steps = self.report.get("engine_steps")
        return {
            "phase": self.phase,
            "segments": list(self.segments),
            "started": as_text(self.started_ms),
            "seconds": self._seconds(),
            **EngineCosts.of_dict(self.report.get("engine")).as_dict(),
            "steps": {
                str(step): EngineCosts.of_dict(costs).as_dict()
                for step, costs in (steps.items() if isinstance(steps, dict) else ())
            },
        }

    def _seconds(self) -> float | None:
        began_ms = _moment(self.report.get("started_ms"))
        finished_ms = _moment(self.report.get("finished_ms"))
        if began_ms is None or finished_ms is None or finished_ms < began_ms:
            return None
        return (finished_ms - began_ms) / 1000


def phase_costs(directory: CrawlDir, notice: Notice) -> list[dict[str, Any]]:
    """Every phase since the newest segment was generated, in the order in which they began; all
    that kept snapshots tell of where there is no segment. `notice` is called with a line for
    each manifest that is damaged."""
    of_segments = list(_runs_of_segments(directory, notice))
    newest = {name for run in of_segments for name in run.segments}
    runs = _merged([*_runs_of_snapshots(directory, notice), *of_segments])
    generated = [run.started_ms for run in runs if run.phase == "generate"]
    since_ms = max(generated, default=0)
    return [
        run.as_dict()
        for run in runs
        if run.started_ms >= since_ms or not newest.isdisjoint(run.segments)
    ]


def _runs_of_snapshots(directory: CrawlDir, notice: Notice) -> Iterator[_PhaseRun]:
    crawldb = directory.crawldb
    for number in directory.require_timeline().numbers:
        try:
            snapshot = crawldb.snapshot(number)
        except StorageError as error:
            notice(str(error))
            continue
        made = snapshot.notes.get("segments")  # of a generate, whose lists it commits
        names = tuple(map(str, made)) if isinstance(made, dict) else ()
        yield _run(snapshot.phase, snapshot.created_ms, names, crawldb.report(number))


def _runs_of_segments(directory: CrawlDir, notice: Notice) -> Iterator[_PhaseRun]:
    """Of the segments of the newest generate, which may have made several."""
    newest: int | None = None
    for name in reversed(directory.segments.folder.names()):
        try:
            runs = list(_runs_of_segment(directory.segments.segment(name)))
        except StorageError as error:
            notice(str(error))
            continue
        if not runs:
            continue  # not generated yet, or no segment
        newest = runs[0].started_ms if newest is None else newest
        if runs[0].started_ms < newest:
            return
        yield from runs


def _runs_of_segment(segment: Segment) -> Iterator[_PhaseRun]:
    for part, phase in _SEGMENT_PHASES.items():
        manifest = segment.manifest(part)
        if manifest is not None:
            yield _run(phase, manifest.created_ms, (segment.name,), segment.report(part))
        elif part == GENERATE:
            return


def _run(
    phase: str, published_ms: object, segments: tuple[str, ...], report: dict[str, Any]
) -> _PhaseRun:
    began_ms = _moment(report.get("started_ms"))
    if began_ms is None:
        began_ms = _moment(published_ms) or 0
    # a fetch that parses leaves its report as that of the parse too
    reported_phase = report.get("phase")
    return _PhaseRun(
        reported_phase if isinstance(reported_phase, str) else phase, began_ms, segments, report
    )


def _merged(runs: list[_PhaseRun]) -> list[_PhaseRun]:
    """Each run once, the earliest first: a generate leaves its report with the snapshot and with
    every segment, and one of them that can be read is enough."""
    merged: dict[tuple[str, int], _PhaseRun] = {}
    for run in sorted(runs, key=lambda run: not run.report):
        if not run.report and any(run.is_part_of(other) for other in merged.values()):
            continue
        key = (run.phase, run.started_ms)
        names = {*run.segments, *(merged[key].segments if key in merged else ())}
        report = merged[key].report if key in merged else run.report
        merged[key] = _PhaseRun(run.phase, run.started_ms, tuple(sorted(names)), report)
    return sorted(merged.values(), key=lambda run: run.started_ms)


def _moment(value: object) -> int | None:
    return value if type(value) is int and 0 < value <= _LAST_MOMENT_MS else None
