"""What the methods of the API return: plain values, with tables for notebooks."""

from __future__ import annotations

__all__ = ["Interrupted", "PhaseResult", "phase_result", "reported"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crawl.operations.results import Interrupted, PhaseResult, phase_result, reported


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
