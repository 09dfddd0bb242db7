"""What can be asked of export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.operations.options import Natural, StealLock, option
from crawl.phases.export.values import SHORTEST_CHUNK, ChunkUnit, ExportFormat, TextKind


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of export."""

    output: Annotated[
        str, option("The folder that the dataset is written to.", metavar="OUT", argument=True)
    ]
    format: Annotated[
        ExportFormat,
        option(
            "Of its files; jsonl and parquet: a record a page; wet: as Common Crawl's; markdown: a"
            " file a page."
        ),
    ] = ExportFormat.JSONL
    text: Annotated[
        TextKind | None,
        option(
            "Without menus and footers, as text (main) or Markdown, or all text of the page (full)."
            "  [default: main]"
        ),
    ] = None
    """None: Markdown for Markdown files, the main text for all others."""
    segments: Annotated[
        tuple[str, ...],
        option("Only these segments (repeatable).", metavar="NAME[,NAME]", commas=True),
    ] = ()
    since: Annotated[
        Natural | None,
        option(
            "Only what is new, changed or gone since this snapshot of the CrawlDb.",
            metavar="SNAPSHOT",
        ),
    ] = None
    chunk: Annotated[
        Annotated[int, Meta(ge=SHORTEST_CHUNK)] | None,
        option("A record a chunk of at most N characters, cut at headings, then at paragraphs."),
    ] = None
    chunk_unit: Annotated[ChunkUnit, option("What --chunk counts.")] = ChunkUnit.CHARACTERS
    filter: Annotated[bool, option("Leave out URLs that filters reject today.")] = False
    overwrite: Annotated[bool, option("Replace an earlier export in OUT.")] = False
    steal_lock: StealLock = False

    @property
    def text_kind(self) -> TextKind:
        """What the text of a record is."""
        if self.text is not None:
            return self.text
        return TextKind.MARKDOWN if self.format is ExportFormat.MARKDOWN else TextKind.MAIN
