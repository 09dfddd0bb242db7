"""Rounds: their steps as data (`steps`), and the loop that runs them (`loop`).

This package itself imports the data alone, neither Spark nor the disk, so that a scheduler
can load it anywhere; `crawl.rounds.loop` is for whoever runs the phases.
"""

from crawl.errors import NOTHING_MORE
from crawl.rounds.steps import (
    AFTER_ROUNDS,
    STOP_FILE,
    UNBOUNDED,
    CrawlParams,
    LoopOptions,
    NextStep,
    NextSteps,
    Round,
    RoundOptions,
    SegmentState,
    Stage,
    Step,
    StopReason,
    Task,
    after_steps,
    build_round,
    inject_step,
    next_step,
    next_steps,
    open_segments,
    parse_wait,
    task_graph,
)

__all__ = [
    "AFTER_ROUNDS",
    "NOTHING_MORE",
    "STOP_FILE",
    "UNBOUNDED",
    "CrawlParams",
    "LoopOptions",
    "NextStep",
    "NextSteps",
    "Round",
    "RoundOptions",
    "SegmentState",
    "Stage",
    "Step",
    "StopReason",
    "Task",
    "after_steps",
    "build_round",
    "inject_step",
    "next_step",
    "next_steps",
    "open_segments",
    "parse_wait",
    "task_graph",
]
