"""A plan of rounds: every step in the order in which it would be done, as the command that does
the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from crawl.rounds.results import PlannedStep
from crawl.rounds.steps import (
    UNBOUNDED,
    LoopOptions,
    RoundOptions,
    SegmentState,
    Step,
    build_round,
    inject_step,
    next_step,
)


def planned_steps(
    crawl_dir: str,
    segments: Iterable[SegmentState],
    options: RoundOptions,
    loop: LoopOptions,
    seeds: tuple[str, ...],
) -> list[PlannedStep]:
    """What a run would do in a crawl with these segments, oldest first."""

    def planned(when: str, step: Step, names: Iterable[str] = ()) -> PlannedStep:
        return PlannedStep(when, step.name, tuple(step.command_line(crawl_dir, names)))

    after = "after the rounds" if loop.wait_s is None else "after each round"
    return [
        *([planned("first", inject_step(seeds))] if seeds else []),
        *(
            planned("to finish what was begun", step, names)
            for step, names in unfinished_steps(list(segments), options)
        ),
        *(
            planned(_which_rounds(loop), step, ["SEGMENT"] if step.takes else [])
            for step in build_round(options).steps
        ),
        *(planned(after, step) for step in loop.then),
    ]


def unfinished_steps(
    segments: list[SegmentState], options: RoundOptions
) -> list[tuple[Step, tuple[str, ...]]]:
    """What finishes the rounds that were begun."""
    a_round = build_round(options)
    steps: list[tuple[Step, tuple[str, ...]]] = []
    while (due := next_step(segments, a_round)).segments:
        steps.append((due.step, due.segments))
        stage = due.step.leads_to
        assert stage is not None
        segments = [
            replace(segment, stage=stage) if segment.name in due.segments else segment
            for segment in segments
        ]
    return steps


def _which_rounds(loop: LoopOptions) -> str:
    if loop.rounds == UNBOUNDED:
        return "each round"
    return "the round" if loop.rounds == 1 else f"each of {loop.rounds} rounds"
