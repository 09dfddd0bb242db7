"""What is shown of a result: tables, lines and remarks as values. Who prints or draws them escapes
what came from outside, and knows how wide the terminal is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Row = Sequence[object]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under the names of their columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    is_note: bool = False
    """Whether it is about the answer, and no part of it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the answer; the words of others in it are to be made printable before."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Cells:
    """A line of the answer whose columns are a TAB apart, for programs that cut it."""

    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Highlighted:
    """A line with places of it, as (begin, end), that are to be seen at once."""

    text: str
    highlights: Sequence[tuple[int, int]]
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A line about the answer, which is no part of it."""

    text: str
    is_continued: bool = False
    """Whether it goes on with the note before it, so that nobody's name is to be before it."""


Part = Table | Line | Cells | Highlighted | Note
View = Sequence[Part]
"""Everything that is shown, in order."""
