"""What the methods of the API return: plain values, with tables for notebooks."""

from __future__ import annotations

__all__ = ["Interrupted", "PhaseResult", "phase_result", "reported"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crawl.operations.results import Interrupted, PhaseResult, html_table, phase_result, reported
from crawl.rounds.results import AfterResult, RoundResult


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
class RunResult:
    """What a run over rounds did."""

    ending: str
    """Why there was no further round: `rounds_done`, `nothing_due`, `stop_file` …"""
    rounds: tuple[RoundResult, ...]
    hosts_waiting: int = 0
    """Hosts with due URLs that the last generate left out, because they answer nothing."""
    next_host_ms: int | None = None
    """When the first of them may be asked again, in milliseconds since 1970."""
    is_started: bool = True
    """False where a stop file was there before the first step."""
    after: tuple[AfterResult, ...] = ()
    """What followed the rounds, each time that it did."""

    def _repr_html_(self) -> str:
        columns = ["round", "fetched", "new", "gone", "retried", "redirects", "left for later"]
        rows = [
            [
                done.number,
                done.fetched,
                done.new,
                done.gone,
                done.retried,
                done.redirects,
                done.left_for_later,
            ]
            for done in self.rounds
        ]
        return html_table(f"run: {self.ending.replace('_', ' ')}", columns, rows)
