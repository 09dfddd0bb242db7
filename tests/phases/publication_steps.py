"""What a publication of several changes is made of, and where to kill a command so that it has made
the one and not the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

from tests.phases.killed import At, Write

_NO_STEP = re.compile(
    r"""
    \.writable$ | /progress(/|$) | /scratch(/|$) | /report\.json$ | /journal/ | /STOP$
    | ^file\ | ^append\ | ^(write|create|delete)\ crawl/quarantine
    """,
    re.VERBOSE,
)
"""Changes that decide nothing: probes, how far a job is, reports, files that nothing names yet,
and the journal, whose kills are those of `test_fetch_kill_writes.py`."""
_NUMBER = re.compile(r"[0-9a-f]{8,}|[0-9]+")


@dataclass(frozen=True, slots=True)
class Publication:
    """A row of the table."""

    name: str
    steps: tuple[tuple[str, str], ...]
    """Changes that follow each other, with * for what differs and # for numbers."""
    stages: tuple[str, ...]
    """Commands of `every_phase.py` that are killed between them."""
    leaves: str
    next_command: str
    readers: str
    test: str = "test_two_step_publications.py::test_killed_between_the_steps"

    def has(self, first: str, second: str) -> bool:
        return any(fnmatchcase(first, a) and fnmatchcase(second, b) for a, b in self.steps)


@dataclass(frozen=True, slots=True)
class Step:
    """A change that decides something, as a row of the table names it."""

    name: str
    operation: str
    place: str
    """The path's end, with * for what is another in the next run."""


def steps_of(writes: Iterable[Write], root: Path) -> list[Step]:
    """The deciding ones among the changes that a command made below that folder."""
    found: list[Step] = []
    for write in writes:
        place = write.path.removeprefix(f"{root}/")
        name = f"{write.operation} {_NUMBER.sub('#', place)}"
        if not write.torn and not _NO_STEP.search(name):
            found.append(Step(name, write.operation, _NUMBER.sub("*", place)))
    return found


def pairs_of(steps: Sequence[Step]) -> list[tuple[str, str]]:
    """Which change follows which."""
    return [
        (first.name, second.name) for first, second in pairwise(steps) if first.name != second.name
    ]


def moments_between(steps: Sequence[Step], row: Publication) -> list[At]:
    """Where to kill so that the first step of the row is done and the second is not: once for
    each pair of its steps that the command makes, and where it makes it at several places, at
    the first and at the last of them."""
    found: dict[tuple[str, str], list[At]] = {}
    for place, (first, second) in enumerate(pairwise(steps), start=1):
        # a deletion is met before it is done: then it is the next change that is not begun
        at, until = (second, place + 1) if first.operation == "delete" else (first, place)
        torn = first.operation == "delete" and second.operation != "delete"
        number = sum(_same(step, at) for step in steps[:until])
        for pair in row.steps:
            if fnmatchcase(first.name, pair[0]) and fnmatchcase(second.name, pair[1]):
                found.setdefault(pair, []).append(At(at.operation, at.place, torn, number))
    chosen: dict[At, None] = {}
    for moments in found.values():
        first_one, last_one = moments[0], moments[-1]
        chosen[first_one] = None
        if last_one.place != first_one.place:
            chosen[last_one] = None
    return list(chosen)


def _same(step: Step, other: Step) -> bool:
    return (step.operation, step.place) == (other.operation, other.place)
