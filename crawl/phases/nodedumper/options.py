"""What can be asked of nodedumper: a list of the link graph, or the graph of hosts or domains."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from crawl.operations.options import Face, Positive, option, selector
from crawl.phases.webgraph.values import Combine, ListFormat, NodeGroup, NodeValue

Nodes = list[tuple[str, float]] | int
"""The list that was asked for, or how many lines of it were written."""


@dataclass(frozen=True, slots=True)
class NodeDumperOptions:
    """The options of a list."""

    by: Annotated[
        NodeValue,
        option("By the score, or the number of inlinks or outlinks, of pages.", faces=Face.API),
    ] = NodeValue.SCORES
    inlinks: Annotated[bool, selector("By the number of pages that link there.")] = False
    outlinks: Annotated[bool, selector("By the number of pages that they link to.")] = False
    scores: Annotated[bool, selector("By what linkrank made of them.")] = False
    top: Annotated[Positive | None, option("Only the first N.", "--topn", "--top")] = None
    group: Annotated[NodeGroup | None, option("Hosts or domains instead of pages.")] = None
    combine: Annotated[
        Combine,
        option(
            "With --group: the sum, or the greatest, of a host's or domain's pages.", faces=Face.API
        ),
    ] = Combine.SUM
    sum: Annotated[
        bool, option("With --group: the sum of its pages (default).", faces=Face.COMMAND_LINE)
    ] = False
    max: Annotated[
        bool, option("With --group: the greatest of its pages.", faces=Face.COMMAND_LINE)
    ] = False
    output: Annotated[
        str | None, option("Write files to a new folder.", metavar="FOLDER", positional=True)
    ] = None
    format: Annotated[
        ListFormat | None,
        option(
            "With --output: of the files (default: text on the command line, parquet in Python).",
            metavar=f"[{'|'.join(ListFormat)}|cc]",
        ),
    ] = None
    as_eff: Annotated[
        bool, option("Text with = between name and value, for Solr's file fields.")
    ] = False
    overwrite: Annotated[bool, option("Replace the files of an older call in FOLDER.")] = False

    @property
    def is_of_command_line(self) -> bool:
        """Whether a flag says by what is listed, as it must on the command line."""
        return self.inlinks or self.outlinks or self.scores

    @property
    def value(self) -> NodeValue:
        """The value by which nodes are listed."""
        if self.inlinks or self.outlinks:
            return NodeValue.INLINKS if self.inlinks else NodeValue.OUTLINKS
        return NodeValue.SCORES if self.scores else self.by

    @property
    def is_sum(self) -> bool:
        """Whether the values of a host's pages are added up; else the greatest is taken."""
        return not self.max and self.combine is Combine.SUM

    @property
    def file_format(self) -> ListFormat:
        """The format of the files."""
        if self.format is not None:
            return self.format
        is_text = self.is_of_command_line or self.as_eff
        return ListFormat.TEXT if is_text else ListFormat.PARQUET

    @property
    def separator(self) -> str:
        """The text between name and value."""
        return "=" if self.as_eff else "\t"


class GraphFormat(StrEnum):
    """How a graph of hosts or domains is written."""

    COMMON_CRAWL = "cc"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDumpOptions:
    """The options of a dump of the graph of hosts or domains."""

    output: Annotated[
        str, option("Write files to a new folder.", metavar="FOLDER", positional=True)
    ]
    format: Annotated[
        GraphFormat,
        selector(
            "With cc: not a list, but the graph that `crawl hostgraph` made, as Common Crawl"
            " publishes theirs.",
            metavar="cc",
        ),
    ] = GraphFormat.COMMON_CRAWL
    group: Annotated[
        NodeGroup, option("The graph of hosts, or that of domains.", required_on=Face.COMMAND_LINE)
    ] = NodeGroup.HOST
    overwrite: Annotated[bool, option("Replace the files of an older call in FOLDER.")] = False
