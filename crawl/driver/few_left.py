"""What is said of a result that is empty or nearly so: what emptied it, and the line that mends it.

A phase that has left everything out has done what it was told, and looks like one that went well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crawl.counters import Counters

_NEARLY_ALL = 100
"""One of so many left is as good as none."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Things that were left out for one reason."""

    count: int
    cause: str
    """By what: a property, an option."""
    remedy: str = ""
    """What to do about it; a command line is in backquotes."""


def few_left(
    things: str, total: int, kept_count: int, left_out: Iterable[LeftOut], become: str = "left"
) -> list[str]:
    """The remark on a result of which nearly nothing is left, with its main reason; none where
    enough is left, or there was nothing to begin with. `become`: what those that are kept are."""
    if not total or kept_count * _NEARLY_ALL >= total:
        return []
    reasons = sorted(left_out, key=lambda each: -each.count)
    number = "none" if not kept_count else f"only {kept_count:,}"
    line = f"{number} of {total:,} {things} {'is' if kept_count == 1 else 'are'} {become}"
    if reasons and reasons[0].count:
        main = reasons[0]
        line += f": {main.count:,} were left out by {main.cause}"
        line += f"; {main.remedy}" if main.remedy else ""
    return [line]


def all_left_out(
    counters: Counters, prefix: str, causes: Mapping[str, tuple[str, str]]
) -> list[LeftOut]:
    """What was left out by each of these reasons, which are counted under names that begin so: its
    cause, and the remedy."""
    return [
        LeftOut(counters[prefix + reason], cause, remedy)
        for reason, (cause, remedy) in causes.items()
    ]


def keeps_them(line: str) -> str:
    """The remedy that is a command."""
    return f"`{line}` keeps them"
