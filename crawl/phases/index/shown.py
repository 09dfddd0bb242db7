"""What index and clean bring, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crawl.operations.operation import Asked
from crawl.operations.results import PhaseResult
from crawl.operations.view import Note, Table, View

if TYPE_CHECKING:
    from crawl.phases.index.state import IndexResult


@dataclass(frozen=True, slots=True)
class IndexingResult(PhaseResult):
    """What index or clean did."""

    index_snapshot: int = 0
    """The number of the index's new state."""
    documents: Mapping[str, int] = field(default_factory=dict)
    """How many documents each index writer has now."""


def indexing_result(index: IndexResult, behind: Iterable[str]) -> IndexingResult:
    """The result by what the driver says, with lines on what it was not up to date with."""
    return IndexingResult.of(
        index.report,
        segments=index.segments,
        remarks=(*index.remarks, *behind, index.took_over),
        index_snapshot=index.number,
        documents=dict(index.documents),
    )


_REASONS = ("skipped.", "deleted.", "stale.", "plugin_errors.", "indexing_filters_dropped.")
_WORDS = ("added", "updated", "unchanged", "older", "not_routed", "deleted")
_RARE_WORDS = ("rejected", "cut", "version_conflicts", "retries")
"""Of servers."""


def render(result: IndexingResult, asked: Asked) -> View:
    """What became of the pages, and of each writer's documents."""
    counters = result.counters
    events = [["documents", counters["documents"]]]
    if counters["returned"]:
        events.append(["returned", counters["returned"]])
    events += [
        [name.replace("_", " "), count]
        for name, count in sorted(counters.items())
        if count and name.startswith(_REASONS)
    ]
    words = [
        *_WORDS,
        *(
            word
            for word in _RARE_WORDS
            if any(counters[f"{writer}.{word}"] for writer in result.documents)
        ),
    ]
    rows = [
        [writer, *(counters[f"{writer}.{word}"] for word in words), count]
        for writer, count in result.documents.items()
    ]
    columns = ["writer", *(word.replace("_", " ") for word in words), "documents"]
    many = ", ".join(
        f"{writer} has {count:,} documents" for writer, count in result.documents.items()
    )
    return [
        Table(result.phase, ["event", "pages"], events),
        Table("index writers", columns, rows),
        Note(f"{asked.address}/index is now snapshot {result.index_snapshot}: {many}"),
    ]
