"""What can be asked of hostgraph, and of a dump of what it made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from crawl.operations.options import StealLock, option
from crawl.phases.webgraph.values import NodeGroup


class Centrality(StrEnum):
    """How harmonic centrality is computed."""

    HYPERBALL = "hyperball"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class HostGraphOptions:
    """The options of hostgraph."""

    group: Annotated[NodeGroup, option("Hosts, or registered domains.")] = NodeGroup.HOST
    centrality: Annotated[
        Centrality | None,
        option(
            "How harmonic centrality is computed: exact, or by HyperBall, an estimate for graphs of"
            " any size (default: exact below 10,000 hosts)."
        ),
    ] = None
    top: Annotated[
        Annotated[int, Meta(ge=0, le=100_000)],
        option("How many hosts are listed; `crawl nodedumper --format cc` writes all."),
    ] = 20
    steal_lock: StealLock = False
