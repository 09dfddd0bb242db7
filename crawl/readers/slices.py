"""Reads a table slice by slice, of which a Spark SQL condition may choose the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import NOTHING, BlockSource, Outbox, Received
from crawl.tables.runner import Runner
from crawl.tables.slices import Slice, Slices

Result = TypeVar("Result")


def over_slices(
    runner: Runner,
    snapshot: Snapshot,
    function: Callable[[Slice, Received], Result],
    matching: BlockSource | None,
    command: str,
    step: str,
) -> list[Result]:
    """What the function makes of each slice. `matching` brings the rows that `--expr` holds for
    to their slices."""
    slices = Slices.of(snapshot, snapshot.buckets)
    tasks = largest_first(slices.stored())
    if matching is None:
        return runner.run(partial(_alone, function), tasks, f"{command}: {step}")
    matches = runner.exchange(_send_nothing, (), len(slices), f"{command}: expr", [matching])
    return matches.run(function, [(task.number, task) for task in tasks], f"{command}: {step}")


def _alone(function: Callable[[Slice, Received], Result], base: Slice) -> Result:
    return function(base, NOTHING)


def _send_nothing(task: None, outbox: Outbox) -> None:
    """Where only a source sends."""
