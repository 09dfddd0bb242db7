"""A report's counters as rows of a table: all that are not zero, related ones together.

A counter that nobody thought of is shown too, since the rare ones tell what went wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def counter_rows(counters: Mapping[str, int], families: Sequence[str]) -> list[list[object]]:
    """`families`: beginnings of names, in the order of their rows; what is of none of them
    comes last."""

    def place(name: str) -> tuple[int, str]:
        found = (at for at, family in enumerate(families) if name.startswith(family))
        return next(found, len(families)), name

    return [[name, counters[name]] for name in sorted(counters, key=place) if counters[name]]
