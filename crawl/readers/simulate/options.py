"""What can be asked of simulate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.operations.options import Face, Positive, option


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateOptions:
    """The options of simulate."""

    segment: Annotated[
        str | None,
        option("Whose fetch list; by default the oldest that is not fetched yet.", argument=True),
    ] = None
    hosts: Annotated[
        Positive | None,
        option("Simulate this many hosts instead of a fetch list.", faces=Face.COMMAND_LINE),
    ] = None
    urls: Annotated[
        Positive | None, option("With --hosts: this many URLs on them.", faces=Face.COMMAND_LINE)
    ] = None
    skew: Annotated[
        Annotated[float, Meta(ge=0)],
        option(
            "The n-th host has 1/n^SKEW as many URLs as the first; 0: all alike.",
            faces=Face.COMMAND_LINE,
        ),
    ] = 0.0
    parts: Annotated[
        Positive,
        option("Parts they are dealt to, each fetched by a task.", faces=Face.COMMAND_LINE),
    ] = 1
    latency: Annotated[
        Annotated[float, Meta(ge=0)],
        option("Mean seconds of a request to a host whose answers the HostDb has not measured."),
    ] = 0.5
    spread: Annotated[
        Annotated[float, Meta(ge=0, le=3)],
        option("Spread of latencies (log-normal: standard deviation of the logarithm)."),
    ] = 0.5
    measured: Annotated[
        bool, option("Take --latency for all hosts, whatever the HostDb has measured.", "--assume")
    ] = True
    threads: Annotated[
        Positive | None, option("Threads per task (default: fetcher.threads.fetch).")
    ] = None
    tasks: Annotated[Positive | None, option("Parts fetched at the same time (default: all).")] = (
        None
    )
    seed: Annotated[int, option("Another number, other latencies.")] = 0
