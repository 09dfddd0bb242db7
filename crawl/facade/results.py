"""What the methods of the API return: plain values, with tables for notebooks."""

from __future__ import annotations

__all__ = ["Interrupted", "PhaseResult", "phase_result", "reported"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crawl.model.report import Report
from crawl.operations.results import Interrupted, PhaseResult, html_table, phase_result, reported
from crawl.phases.export.tasks.values import ExportedFile


@dataclass(frozen=True, slots=True)
class GarbageResult(PhaseResult):
    """What a garbage collection did."""

    forgotten: tuple[int, ...] = ()
    """The numbers of the snapshots that are gone."""
    kept: tuple[int, ...] = ()
    """Those of the snapshots that are kept, the current one last."""


@dataclass(frozen=True, slots=True)
class HostGraphResult(PhaseResult):
    """What a hostgraph did; `snapshot` is that of the graph of hosts or domains."""

    top: tuple[Mapping[str, Any], ...] = ()
    """The first hosts or domains by harmonic centrality, as rows of the table."""


@dataclass(frozen=True, slots=True)
class IndexingResult(PhaseResult):
    """What index or clean did."""

    index_snapshot: int = 0
    """The number of the index's new state."""
    documents: Mapping[str, int] = field(default_factory=dict)
    """How many documents each index writer has now."""


@dataclass(frozen=True, slots=True)
class ExportedDataset(PhaseResult):
    """What an export wrote."""

    output: str = ""
    """The folder; its records are in `data`."""
    records: int = 0
    files: tuple[ExportedFile, ...] = ()
    """Of Markdown files, their folder for each task."""

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


def indexing_result(
    report: Report,
    *,
    number: int,
    documents: Mapping[str, int],
    segments: tuple[str, ...] = (),
    remarks: tuple[str | None, ...] = (),
) -> IndexingResult:
    """The result of index or clean by its report."""
    return IndexingResult(
        **reported(report, segments, remarks), index_snapshot=number, documents=dict(documents)
    )


def exported_dataset(
    report: Report,
    *,
    output: str,
    records: int,
    files: tuple[ExportedFile, ...],
    segments: tuple[str, ...] = (),
    remarks: tuple[str | None, ...] = (),
) -> ExportedDataset:
    """The result of an export by its report."""
    return ExportedDataset(
        **reported(report, segments, remarks), output=output, records=records, files=files
    )


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page and what the crawl would make of it."""

    url: str
    anchor: str
    rel: str
    kept_as: str
    """In normal form; empty where it would be dropped."""
    dropped: str
    """Why it would be dropped; empty where it is kept."""


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What a parse made of a page."""

    url: str
    status: str
    """`success`, or how it failed."""
    message: str
    title: str
    text: str = field(repr=False)
    main_text: str | None = field(repr=False)
    language: str
    mime_type: str
    charset: str
    canonical: str
    directives: tuple[str, ...]
    """What the page asks of robots: noindex, nofollow …"""
    metadata: Mapping[str, str] = field(repr=False)
    links: tuple[Link, ...] = field(repr=False)
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """What the rules of `parsefilter.fields.file` took from it, as texts; empty where nothing was
    found."""
    field_problems: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Why a field has no value, or fewer than were found."""

    @property
    def is_parsed(self) -> bool:
        return self.status.startswith("success")

    def _repr_html_(self) -> str:
        rows: list[Sequence[object]] = [
            [name, getattr(self, name)]
            for name in ("url", "status", "title", "language", "mime_type", "charset")
        ]
        rows.append(["links", f"{len(self.links):,}"])
        rows.append(["text", f"{len(self.text):,} characters"])
        return html_table("page", ["what", "value"], rows)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What became of one URL that was asked for."""

    url: str
    """The URL that answered, after redirects."""
    asked: str
    """The URL that was wanted."""
    status: str
    """What the fetch made of it: `fetch_success`, `fetch_gone` …; empty where nothing was
    asked, and `reasons` say why."""
    code: int
    """The HTTP status code; 0 where there was no answer."""
    content: bytes = field(repr=False)
    content_type: str
    headers: Mapping[str, str] = field(repr=False)
    redirects: tuple[str, ...]
    """The URLs that led there."""
    reasons: tuple[str, ...]
    """Why it, or a redirect's target, was not fetched."""
    robots: str
    """What the host's robots.txt was: `rules`, `none` …; empty where it was not asked."""

    @property
    def is_fetched(self) -> bool:
        return self.status == "fetch_success"

    def _repr_html_(self) -> str:
        names = ("url", "status", "code", "content_type", "robots", "redirects", "reasons")
        rows = [[name, getattr(self, name)] for name in names]
        return html_table("fetched", ["what", "value"], rows)
