"""What can be asked of plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.operations.amounts import BITS, COUNT, COUNT_OR_ZERO, DAYS, SECONDS, SIZE, Amount
from crawl.operations.options import Positive, option
from crawl.planning.cluster import EXAMPLE_PRICES

Above0 = Annotated[float, Meta(gt=0)]
From0 = Annotated[float, Meta(ge=0)]


def _amount(unit: Amount, help: str, *flags: str) -> Meta:
    """An option whose value has a unit on the command line."""
    return option(help, *flags, metavar=unit.name.upper(), parse=unit, shows_default=False)


def _price(unit: str, example: float) -> Meta:
    """An option for what something costs."""
    about = f"In whatever money; for example {example:g}, which is the default."
    return _amount(COUNT_OR_ZERO, about, f"--price-per-{unit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """The options of plan."""

    urls: Annotated[Above0, _amount(COUNT, "URLs in the CrawlDb.")]
    hosts: Annotated[Above0, _amount(COUNT, "Hosts that they are on.")]
    pages_per_day: Annotated[
        Above0 | None, _amount(COUNT, "Pages to fetch (default: all URLs in --revisit).")
    ] = None
    page_bytes: Annotated[
        Above0, _amount(SIZE, "Size of a page (default: 84kB).", "--page-size")
    ] = 84_000.0
    links: Annotated[From0, _amount(COUNT_OR_ZERO, "Links kept of a page (default: 60).")] = 60.0
    skew: Annotated[
        From0,
        _amount(
            COUNT_OR_ZERO,
            "The n-th host has 1/n^SKEW as many URLs as the first; 0: all alike (default: 0.9).",
        ),
    ] = 0.9
    delay: Annotated[
        From0, _amount(SECONDS, "The property fetcher.server.delay (default: 5s).")
    ] = 5.0
    latency: Annotated[From0, _amount(SECONDS, "Of an answer, on average (default: 0.5s).")] = 0.5
    revisit_days: Annotated[
        Above0, _amount(DAYS, "Wanted between two visits (default: 30d).", "--revisit")
    ] = 30.0
    rounds_per_day: Annotated[
        Above0, _amount(COUNT, "Rounds, one after the other (default: 4).")
    ] = 4.0
    seeds: Annotated[
        Above0 | None,
        _amount(COUNT, "Injected once, before the first round (default: one a host)."),
    ] = None
    keep_days: Annotated[
        Above0 | None, _amount(DAYS, "Segments are kept so long (default: --revisit).", "--keep")
    ] = None
    buckets: Annotated[
        Positive | None, option("Of the CrawlDb (default: one for 10 million URLs).")
    ] = None
    nodes: Annotated[
        Positive | None, option("Use this many instead of the fewest that suffice.")
    ] = None
    cores_per_node: Annotated[Positive, option("Cores of a node.")] = 16
    memory_per_node: Annotated[Above0, _amount(SIZE, "Memory of a node (default: 64GB).")] = 64e9
    bandwidth_per_node: Annotated[
        Above0, _amount(BITS, "Bits a second of a node's line (default: 10Gbit).")
    ] = 10e9
    threads: Annotated[
        Positive | None,
        option("A fetch task (default: as many as keep a core busy while hosts answer)."),
    ] = None
    use: Annotated[
        Annotated[float, Meta(gt=0, le=1)],
        option(
            "Share of a node that does this work: Spark, stragglers and failures take the rest."
        ),
    ] = 0.7
    price_per_node_hour: Annotated[From0, _price("node-hour", EXAMPLE_PRICES.node_hour)] = (
        EXAMPLE_PRICES.node_hour
    )
    price_per_gb_month: Annotated[From0, _price("GB-month", EXAMPLE_PRICES.gigabyte_month)] = (
        EXAMPLE_PRICES.gigabyte_month
    )
    price_per_million_puts: Annotated[
        From0, _price("million-puts", EXAMPLE_PRICES.million_puts)
    ] = EXAMPLE_PRICES.million_puts
    price_per_million_gets: Annotated[
        From0, _price("million-gets", EXAMPLE_PRICES.million_gets)
    ] = EXAMPLE_PRICES.million_gets
    costs: Annotated[
        str | None,
        option(
            "Measured costs of a unit of work, from `scripts/bench/run costs --out FILE`"
            " (default: those that come along).",
            metavar="FILE",
        ),
    ] = None
