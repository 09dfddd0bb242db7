"""The words that an export is asked in, and the files that it answers with; light to import."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ExportFormat(StrEnum):
    """How records are written."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    MARKDOWN = "markdown"
    """A file a page."""
    WET = "wet"


class TextKind(StrEnum):
    """What the text of a record is."""

    MAIN = "main"
    """Without menus and footers."""
    MARKDOWN = "markdown"
    """The same as Markdown."""
    FULL = "full"
    """All text of the page, as it was parsed."""


SHORTEST_CHUNK = 16
"""Characters or words that a chunk may be bounded to: pages of single letters are no dataset."""


class ChunkUnit(StrEnum):
    """What the length of a chunk is counted in."""

    CHARACTERS = "characters"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that is whole."""

    path: str
    """Below the export's folder."""
    records: int
    bytes: int
