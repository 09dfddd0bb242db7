"""crawl plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from crawl.cli.common.options import Command, json_option
from crawl.cli.common.output import print_json, print_table, remark
from crawl.errors import UsageError
from crawl.operations.amounts import (
    BITS,
    COUNT,
    COUNT_OR_ZERO,
    DAYS,
    SECONDS,
    SIZE,
    Amount,
    format_bytes,
    format_count,
    format_time,
)
from crawl.planning.cluster import (
    EXAMPLE_PRICES,
    HOURS_A_DAY,
    Node,
    Plan,
    Prices,
    most_pages_per_day,
    plan,
)
from crawl.planning.costs import FILE, Costs, read_costs
from crawl.planning.demand import Demand
from crawl.planning.executors import (
    ExecutorPlan,
    NoRoom,
    filling_threads,
    plan_executors,
    spark_settings,
)
from crawl.planning.host_sizes import HostPace
from crawl.readers.plan.capacity import plan_values


def _amount(*names: str, kind: Amount, **others: Any) -> Callable[[Command], Command]:
    """An option whose value has a unit."""
    return click.option(*names, callback=kind, metavar=kind.name.upper(), **others)


def _price(unit: str, example: float) -> Callable[[Command], Command]:
    """An option for what something costs."""
    name = f"price_per_{unit.replace('-', '_').lower()}"
    about = f"In whatever money; for example {example:g}, which is the default."
    return _amount(
        f"--price-per-{unit}", name, kind=COUNT_OR_ZERO, default=str(example), help=about
    )


@click.command("plan")
@_amount("--urls", kind=COUNT, required=True, help="URLs in the CrawlDb.")
@_amount("--hosts", kind=COUNT, required=True, help="Hosts that they are on.")
@_amount("--pages-per-day", kind=COUNT, help="Pages to fetch (default: all URLs in --revisit).")
@_amount("--page-size", kind=SIZE, default="84kB", show_default=True, help="Of a page.")
@_amount(
    "--links", kind=COUNT_OR_ZERO, default="60", show_default=True, help="Links kept of a page."
)
@_amount(
    "--skew",
    kind=COUNT_OR_ZERO,
    default="0.9",
    show_default=True,
    help="The n-th host has 1/n^SKEW as many URLs as the first; 0: all alike.",
)
@_amount("--delay", kind=SECONDS, default="5s", show_default=True, help="fetcher.server.delay.")
@_amount(
    "--latency",
    kind=SECONDS,
    default="0.5s",
    show_default=True,
    help="Of an answer, on average.",
)
@_amount(
    "--revisit",
    kind=DAYS,
    default="30d",
    show_default=True,
    help="Wanted between two visits.",
)
@_amount(
    "--rounds-per-day", kind=COUNT, default="4", show_default=True, help="One after the other."
)
@_amount("--seeds", kind=COUNT, help="Injected once, before the first round (default: one a host).")
@_amount("--keep", kind=DAYS, help="Segments are kept so long (default: --revisit).")
@click.option(
    "--buckets",
    type=click.IntRange(min=1),
    help="Of the CrawlDb (default: one for 10 million URLs).",
)
@click.option(
    "--nodes", type=click.IntRange(min=1), help="Use this many instead of the fewest that suffice."
)
@click.option("--cores-per-node", type=click.IntRange(min=1), default=16, show_default=True)
@_amount("--memory-per-node", kind=SIZE, default="64GB", show_default=True)
@_amount("--bandwidth-per-node", kind=BITS, default="10Gbit", show_default=True)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="A fetch task (default: as many as keep a core busy while hosts answer).",
)
@click.option(
    "--use",
    type=click.FloatRange(min=0, max=1, min_open=True),
    default=0.7,
    show_default=True,
    help="Share of a node that does this work: Spark, stragglers and failures take the rest.",
)
@_price("node-hour", EXAMPLE_PRICES.node_hour)
@_price("GB-month", EXAMPLE_PRICES.gigabyte_month)
@_price("million-puts", EXAMPLE_PRICES.million_puts)
@_price("million-gets", EXAMPLE_PRICES.million_gets)
@click.option(
    "--costs",
    "costs_file",
    metavar="FILE",
    help="Measured costs of a unit of work, from `scripts/bench/run costs --out FILE`"
    " (default: those that come along).",
)
@json_option
def command(
    urls: float,
    hosts: float,
    pages_per_day: float | None,
    page_size: float,
    links: float,
    skew: float,
    delay: float,
    latency: float,
    revisit: float,
    rounds_per_day: float,
    seeds: float | None,
    keep: float | None,
    buckets: int | None,
    nodes: int | None,
    cores_per_node: int,
    memory_per_node: float,
    bandwidth_per_node: float,
    threads: int | None,
    use: float,
    price_per_node_hour: float,
    price_per_gb_month: float,
    price_per_million_puts: float,
    price_per_million_gets: float,
    costs_file: str | None,
    as_json: bool,
) -> int:
    """Estimate what a crawl of a given size takes: nodes, hours, storage, requests, money.

    A phase takes as long as the slowest of what it needs, which the column `bound` names:
    processors, the line, the object store's answers, threads that wait for hosts, tasks
    (fewer than cores: more --buckets), or politeness. A host gives one page every delay +
    latency, however many machines ask: the least time for a round's pages follows from how
    URLs are spread over hosts, and `--skew` says how. The costs of a unit of work were
    measured; each figure and where it is from is in conf/costs.toml. Measure on your machines
    before you buy any. Prices are examples until you give yours; all 0: no costs are shown.
    The last table has the settings for spark-submit, computed from a node's cores and memory,
    each with its reason; where a node has no room for one executor, the exit code is 1.

    Assumptions: hosts answer, and their robots.txt, asked for once a day, allows
    everything and asks for no pause of its own; every request is a new TLS connection; pages
    travel uncompressed; 30 ms a request to the object store; no two phases run at the same
    time. If no number of nodes is enough, the exit code is 1.

    PUT and GET are the requests to the store by what they cost: lists count as PUT, looks at a
    file (HEAD) as GET. Those of inject, generate and updatedb are held against counted ones.

    \b
    Examples:
      crawl plan --urls 10e9 --hosts 50e6 --pages-per-day 1e9
      crawl plan --urls 1e9 --hosts 5e6 --nodes 20 --rounds-per-day 2
      crawl plan --urls 1e8 --hosts 1e5 --delay 1s --price-per-node-hour 0.70 --json
    """
    demand = Demand(
        urls=urls,
        hosts=hosts,
        pages_per_day=pages_per_day or urls / revisit,
        page_bytes=page_size,
        links=links,
        pace=HostPace(delay, latency),
        skew=skew,
        revisit_days=revisit,
        rounds_per_day=rounds_per_day,
        seeds=hosts if seeds is None else seeds,
        keep_days=revisit if keep is None else keep,
        buckets=buckets or 0,
    )
    costs = _costs(costs_file)
    threads = threads or filling_threads(demand, costs, use)
    node = Node(cores_per_node, memory_per_node, bandwidth_per_node, threads, use)
    prices = Prices(
        price_per_node_hour, price_per_gb_month, price_per_million_puts, price_per_million_gets
    )
    found = plan(demand, costs, node, nodes, prices)
    most = None if found.fits else most_pages_per_day(demand, costs, node)
    executors = plan_executors(demand, costs, node, found.nodes)
    if as_json:
        print_json(plan_values(demand, node, found, most, executors))
    else:
        _show(demand, node, found, prices)
        _show_executors(executors)
        _conclude(demand, found, most)
        if prices == EXAMPLE_PRICES:
            remark("plan: prices are examples: give yours by --price-per-…")
    return 0 if found.fits and not isinstance(executors, NoRoom) else 1


def _costs(path: str | None) -> Costs:
    from crawl.config.resources import packaged

    if path is None:
        return read_costs((packaged() / FILE).read_text(), FILE)
    try:
        return read_costs(Path(path).read_text(), path)
    except OSError as error:
        raise UsageError(f"--costs: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--costs: {path} is no text") from None


def _show(demand: Demand, node: Node, found: Plan, prices: Prices) -> None:
    priced = prices.any
    rows: list[list[object]] = []
    for phase in found.phases:
        work, runs = phase.work, phase.runs_per_day
        rows.append(
            [
                work.phase,
                "once" if runs == 0 else f"{runs:g} a day",
                format_time(phase.time.seconds),
                phase.time.bound,
                f"{work.cpu_s / 3600:,.3g}",
                format_bytes(work.read_bytes),
                format_bytes(work.written_bytes),
                format_bytes(work.exchanged_bytes),
                format_count(phase.requests.puts),
                format_count(phase.requests.gets),
                format_count(work.http),
                *([f"{phase.cost:,.2f}"] if priced else []),
            ]
        )
    print_table(
        "each run of a phase",
        [
            "phase",
            "runs",
            "takes",
            "bound",
            "core hours",
            "reads",
            "writes",
            "exchanges",
            "PUT",
            "GET",
            "HTTP",
        ]
        + (["cost/day"] if priced else []),
        rows,
    )
    kept = found.storage
    passing = max((phase.work for phase in found.phases), key=lambda work: work.driver_bytes)
    facts: list[list[object]] = [
        ["nodes", f"{found.nodes:,} of {node.cores} cores and {format_bytes(node.memory_bytes)}"],
        ["busy", f"{found.hours_per_day:.3g} of {HOURS_A_DAY:g} hours a day"],
        ["pages a day", format_count(demand.pages_per_day)],
        ["every URL once in", f"{demand.urls / demand.pages_per_day:,.3g} days"],
        ["CrawlDb", f"{format_bytes(kept.updatedb)} in {demand.snapshots} snapshots"],
        ["segments", f"{format_bytes(kept.segments)} of {demand.keep_days:g} days"],
        ["  of generate", format_bytes(kept.generate)],
        ["  of fetch", format_bytes(kept.fetch)],
        ["  of parse", format_bytes(kept.parse)],
        ["robots.txt", f"{format_bytes(kept.robots)} of {format_count(demand.robots_kept)} hosts"],
        [
            "through the driver",
            f"{format_bytes(passing.driver_bytes)} of tasks and results in a {passing.phase}",
        ],
    ]
    if priced:
        per_month = 30 * found.cost_per_day + found.storage_cost
        facts.append(
            ["cost a month", f"{per_month:,.2f} ({found.storage_cost:,.2f} of it storage)"]
        )
    facts += [
        ["crawldb.buckets", f"{demand.bucket_count}"],
        ["generate --top-n", f"{demand.pages_per_round:.0f}"],
        ["generate.max.count", f"{found.max_count:.0f}"],
    ]
    print_table("the crawl", ["what", "how much"], facts, first=False)


def _show_executors(executors: ExecutorPlan | NoRoom) -> None:
    if isinstance(executors, NoRoom):
        remark(f"plan: {executors.reason}")
        return
    rows: list[list[object]] = [
        [setting.name, setting.value, setting.reason] for setting in spark_settings(executors)
    ]
    print_table("how to submit it", ["setting", "value", "why"], rows, first=False)


def _conclude(demand: Demand, found: Plan, most: float | None) -> None:
    if found.left_behind > 0.005:
        remark(
            f"plan: {found.slow_hosts:,.0f} hosts are too large to be visited wholly in"
            f" {demand.revisit_days:g} days: {found.left_behind:.0%} of the URLs have to wait"
            " longer, or their hosts allow a shorter delay"
        )
    if most is None:
        return
    slowest = max(found.phases, key=lambda phase: phase.hours_per_day)
    if most >= demand.pages_per_day:
        remark(
            f"plan: --nodes {found.nodes} is not enough: a day's rounds take"
            f" {found.hours_per_day:,.3g} hours; omit --nodes to get the number needed"
        )
        return
    remark(
        f"plan: not possible with any number of nodes: {slowest.work.phase} is bound by"
        f" {slowest.time.bound}; {format_count(most)} pages a day are, at"
        f" {demand.rounds_per_day:g} rounds a day"
    )
