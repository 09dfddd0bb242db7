"""What operations bring: plain values, with tables for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Self

from crawl.counters import Counters
from crawl.model.report import Report

if TYPE_CHECKING:
    from crawl.operations.operation import Asked


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """What one phase did."""

    phase: str
    counters: Counters
    """URLs, pages or links by what became of them, by name."""
    seconds: Mapping[str, float]
    """How long its steps took."""
    snapshot: int | None = None
    """The new state of the CrawlDb, or of the LinkDb, where the phase made one."""
    db_urls: int | None = None
    """How many URLs that state has."""
    segments: tuple[str, ...] = ()
    """The segments that it made or worked on."""
    complete: bool = True
    """False where it was asked to end before it was done."""
    remarks: tuple[str, ...] = ()
    """Lines for the operator."""
    report: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The whole report, as it is stored beside what the phase wrote."""

    @classmethod
    def of(
        cls,
        report: Report,
        *,
        segments: tuple[str, ...] = (),
        remarks: Iterable[str | None] = (),
        **others: Any,
    ) -> Self:
        """The result of a phase by its report; `others` are the fields that no report tells of."""
        return cls(
            phase=report.phase,
            counters=Counters(report.counters),
            seconds=dict(report.durations_s),
            segments=segments,
            remarks=tuple(filter(None, remarks)),
            report=report.as_dict(),
            **others,
        )

    def _repr_html_(self) -> str:
        return html_table(self.phase, ["what", "count"], sorted(self.counters.items()))


class Interrupted(KeyboardInterrupt):
    """A signal stopped the work gracefully: what is done is kept; the same call resumes it."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result
        """What was done until then; None where that is not known."""


def report_values(*names: str) -> Callable[[PhaseResult, Asked], dict[str, Any]]:
    """What programs get of a phase's result: these of its fields, and the report."""

    def values(result: PhaseResult, asked: Asked) -> dict[str, Any]:
        return {name: getattr(result, name) for name in (*names, "report")}

    return values


def html_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table for a notebook; all text is escaped, for it may come from any server."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _text(cell: object) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, tuple):
        return ", ".join(map(str, cell))
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
