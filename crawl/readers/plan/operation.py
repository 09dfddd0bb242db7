"""plan as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crawl.operations.amounts import format_bytes, format_count, format_time
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work
from crawl.planning.cluster import EXAMPLE_PRICES, HOURS_PER_DAY
from crawl.planning.executors import NoRoom, spark_settings
from crawl.readers.plan.options import PlanOptions

if TYPE_CHECKING:
    from crawl.readers.plan.capacity import Capacity

_LEFT_BEHIND = 0.005
"""A smaller share of the URLs is not worth a line."""


def run(work: Work, options: PlanOptions) -> dict[str, Any]:
    from crawl.readers.plan.capacity import plan_capacity, plan_values

    return plan_values(plan_capacity(options))


def render(result: dict[str, Any], asked: Asked) -> View:
    """The phases, the crawl, how to submit it, and what is not possible. More than programs are
    told: it is planned once more, which takes no time."""
    from crawl.readers.plan.capacity import plan_capacity

    capacity = plan_capacity(asked.options)
    return list(_parts(capacity))


def _parts(capacity: Capacity) -> Iterator[Part]:
    yield _phases(capacity)
    yield Table("the crawl", ["what", "how much"], list(_facts(capacity)))
    if isinstance(capacity.executors, NoRoom):
        yield Note(capacity.executors.reason)
    else:
        settings = spark_settings(capacity.executors)
        rows = [[setting.name, setting.value, setting.reason] for setting in settings]
        yield Table("how to submit it", ["setting", "value", "why"], rows)
    yield from map(Note, _conclusions(capacity))
    if capacity.prices == EXAMPLE_PRICES:
        yield Note("prices are examples: give yours by --price-per-…")


def _phases(capacity: Capacity) -> Table:
    is_priced = capacity.prices.any
    rows = [
        [
            phase.work.phase,
            "once" if phase.runs_per_day == 0 else f"{phase.runs_per_day:g} a day",
            format_time(phase.time.seconds),
            phase.time.bound,
            f"{phase.work.cpu_s / 3600:,.3g}",
            format_bytes(phase.work.read_bytes),
            format_bytes(phase.work.written_bytes),
            format_bytes(phase.work.exchanged_bytes),
            format_count(phase.requests.puts),
            format_count(phase.requests.gets),
            format_count(phase.work.http),
            *([f"{phase.cost:,.2f}"] if is_priced else []),
        ]
        for phase in capacity.plan.phases
    ]
    columns = ["phase", "runs", "takes", "bound", "core hours", "reads", "writes", "exchanges"]
    columns += ["PUT", "GET", "HTTP", *(["cost/day"] if is_priced else [])]
    return Table("each run of a phase", columns, rows)


def _facts(capacity: Capacity) -> Iterator[list[object]]:
    demand, node, plan = capacity.demand, capacity.node, capacity.plan
    storage = plan.storage
    passing = max((phase.work for phase in plan.phases), key=lambda work: work.driver_bytes)
    yield ["nodes", f"{plan.nodes:,} of {node.cores} cores and {format_bytes(node.memory_bytes)}"]
    yield ["busy", f"{plan.hours_per_day:.3g} of {HOURS_PER_DAY:g} hours a day"]
    yield ["pages a day", format_count(demand.pages_per_day)]
    yield ["every URL once in", f"{demand.urls / demand.pages_per_day:,.3g} days"]
    yield ["CrawlDb", f"{format_bytes(storage.updatedb)} in {demand.snapshots} snapshots"]
    yield ["segments", f"{format_bytes(storage.segments)} of {demand.keep_days:g} days"]
    yield ["  of generate", format_bytes(storage.generate)]
    yield ["  of fetch", format_bytes(storage.fetch)]
    yield ["  of parse", format_bytes(storage.parse)]
    robots = f"{format_bytes(storage.robots)} of {format_count(demand.robots_kept)} hosts"
    yield ["robots.txt", robots]
    yield [
        "through the driver",
        f"{format_bytes(passing.driver_bytes)} of tasks and results in a {passing.phase}",
    ]
    if capacity.prices.any:
        per_month = 30 * plan.cost_per_day + plan.storage_cost
        yield ["cost a month", f"{per_month:,.2f} ({plan.storage_cost:,.2f} of it storage)"]
    yield ["crawldb.buckets", f"{demand.bucket_count}"]
    yield ["generate --top-n", f"{demand.pages_per_round:.0f}"]
    yield ["generate.max.count", f"{plan.max_count:.0f}"]


def _conclusions(capacity: Capacity) -> Iterator[str]:
    demand, plan, most = capacity.demand, capacity.plan, capacity.max_pages_per_day
    if plan.left_behind > _LEFT_BEHIND:
        yield (
            f"{plan.slow_hosts:,.0f} hosts are too large to be visited wholly in"
            f" {demand.revisit_days:g} days: {plan.left_behind:.0%} of the URLs have to wait"
            " longer, or their hosts allow a shorter delay"
        )
    if most is None:
        return
    if most >= demand.pages_per_day:
        yield (
            f"--nodes {plan.nodes} is not enough: a day's rounds take"
            f" {plan.hours_per_day:,.3g} hours; omit --nodes to get the number needed"
        )
        return
    slowest = max(plan.phases, key=lambda phase: phase.hours_per_day)
    yield (
        f"not possible with any number of nodes: {slowest.work.phase} is bound by"
        f" {slowest.time.bound}; {format_count(most)} pages a day are, at"
        f" {demand.rounds_per_day:g} rounds a day"
    )


OPERATION = Operation(
    name="plan",
    run=run,
    render=render,
    code=lambda plan, asked: 0 if plan["fits"] and plan["spark"] else 1,
    place=Place.NOWHERE,
    help="""
    Estimate what a crawl of a given size takes: nodes, hours, storage, requests, money.

    A phase takes as long as the slowest of what it needs, which the column `bound` names:
    processors, the line, the object store's answers, threads that wait for hosts, tasks
    (fewer than cores: more --buckets), or politeness. A host gives one page every delay +
    latency, however many machines ask: the least time for a round's pages follows from how
    URLs are spread over hosts, and --skew says how. The costs of a unit of work were
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
    """,
    examples=(
        "crawl plan --urls 10e9 --hosts 50e6 --pages-per-day 1e9",
        "crawl plan --urls 1e9 --hosts 5e6 --nodes 20 --rounds-per-day 2",
        "crawl plan --urls 1e8 --hosts 1e5 --delay 1s --price-per-node-hour 0.70 --json",
    ),
    calls=('crawl.plan(urls=1e9, hosts=5e6, pages_per_day=1e8)["nodes"]',),
)
