"""How many nodes a day's work needs, how long each phase then takes, and what that costs."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from crawl.planning.capacity import PhaseWork, Storage, inject, round_of, storage
from crawl.planning.costs import Costs
from crawl.planning.demand import Demand
from crawl.planning.store_requests import StoreRequests

MAX_NODES = 1_000_000
HOURS_PER_DAY = 24.0
STORE_LATENCY_S = 0.03
"""Seconds that a task waits for one request to an object store."""
MEMORY_FOR_TASKS = 0.8
"""The rest is the system's, Spark's and the page cache's."""


@dataclass(frozen=True, slots=True)
class Node:
    """One machine of the cluster."""

    cores: int = 16
    memory_bytes: float = 64e9
    bits_per_s: float = 10e9
    threads: int = 50
    """Threads of a fetch task."""
    use: float = 0.7
    """Share of it that does our work: the rest goes to Spark, stragglers and failures."""

    def slots(self, work: PhaseWork) -> float:
        """Tasks at a time: one a core, unless memory is short; a part of one where not even
        one task fits, so that the plan says how long that would be."""
        if work.task_bytes <= 0:
            return float(self.cores)
        return min(float(self.cores), self.memory_bytes * MEMORY_FOR_TASKS / work.task_bytes)


@dataclass(frozen=True, slots=True)
class Prices:
    """What things cost, in any currency."""

    node_hour: float = 0.0
    gigabyte_month: float = 0.0
    million_puts: float = 0.0
    million_gets: float = 0.0

    @property
    def any(self) -> bool:
        return any((self.node_hour, self.gigabyte_month, self.million_puts, self.million_gets))


EXAMPLE_PRICES = Prices(0.70, 0.023, 5.0, 0.40)
"""Prices of the order of what large providers ask, in dollars, for 16 cores with 64 GB on demand
and for an object store: they show how the costs are shared before anybody has an offer."""


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """How long a phase takes, and what keeps it from being faster."""

    seconds: float
    bound: str


def phase_time(work: PhaseWork, node: Node, nodes: float) -> PhaseTime:
    """The slowest of all that the phase needs; they overlap."""
    slots = nodes * node.slots(work)
    busy = min(slots, work.tasks)
    limits = {
        "CPU": work.cpu_s / (busy * node.use) + work.start_s,
        "network": work.network_bytes * 8 / (nodes * node.bits_per_s * node.use),
        "store": (work.requests.gets + work.requests.puts) * STORE_LATENCY_S / slots,
        "threads": work.waiting_s / (slots * node.threads),
        "politeness": work.least_s,
    }
    if work.tasks < slots:
        limits["tasks"] = limits.pop("CPU")
    bound = max(limits, key=lambda name: limits[name])
    return PhaseTime(limits[bound], bound)


@dataclass(frozen=True, slots=True)
class PhasePlan:
    """A phase on the cluster."""

    work: PhaseWork
    runs_per_day: float
    """0: it is run once, before."""
    time: PhaseTime
    requests: StoreRequests
    """To the store, in all of that time."""
    cost: float
    """The cost of a day; of the one run where it is run once."""

    @property
    def hours_per_day(self) -> float:
        return self.time.seconds / 3600 * self.runs_per_day


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole of it."""

    nodes: int
    phases: tuple[PhasePlan, ...]
    storage: Storage
    storage_cost: float
    """A month."""
    max_count: float
    """generate.max.count: pages a host for which the fetch has time."""
    left_behind: float
    """Share of the URLs that politeness does not let be visited within the interval."""
    slow_hosts: float
    """Hosts that these are on."""

    @property
    def hours_per_day(self) -> float:
        return sum(phase.hours_per_day for phase in self.phases)

    @property
    def fits(self) -> bool:
        return self.hours_per_day <= HOURS_PER_DAY * (1 + 1e-9)

    @property
    def cost_per_day(self) -> float:
        return sum(phase.cost for phase in self.phases if phase.runs_per_day)


def plan(
    demand: Demand, costs: Costs, node: Node, nodes: int | None = None, prices: Prices | None = None
) -> Plan:
    """On so many nodes; or on the fewest with which the day is long enough, or, where no
    number is enough, on as many as are of any use."""
    prices = prices or Prices()
    works = round_of(demand, costs)
    if nodes is None:
        nodes = fewest_nodes(demand, costs, node) or _enough(works, node)
    planned = [_phase(inject(demand, costs), node, nodes, 0.0, prices)]
    planned += [_phase(work, node, nodes, demand.rounds_per_day, prices) for work in works]
    space = storage(demand, costs)
    fetching = next(phase for phase in planned if phase.work.phase == "fetch")
    # what is left of the day is the fetch's, whose chains may be as long
    others = sum(phase.hours_per_day for phase in planned if phase is not fetching)
    spare_s = max(0.0, HOURS_PER_DAY - others) * 3600 / demand.rounds_per_day
    longest_s = max(fetching.time.seconds, min(spare_s, fetching.time.seconds * 1.5))
    rounds = demand.revisit_days * demand.rounds_per_day
    reachable = demand.pace.pages_within(spare_s) * rounds
    sizes = demand.sizes
    return Plan(
        nodes,
        tuple(planned),
        space,
        space.total / 1e9 * prices.gigabyte_month,
        min(math.ceil(sizes.largest), max(demand.cap, demand.pace.pages_within(longest_s))),
        1 - min(1.0, sizes.capped(reachable) / demand.urls),
        sizes.larger_than(reachable) if reachable < sizes.largest else 0.0,
    )


def _seconds(works: Sequence[PhaseWork], node: Node, nodes: float) -> float:
    return sum(phase_time(work, node, nodes).seconds for work in works)


def fewest_nodes(demand: Demand, costs: Costs, node: Node) -> int | None:
    """With which a day's rounds take no more than a day; None where no number is enough."""
    works = round_of(demand, costs)
    most_s = HOURS_PER_DAY * 3600 / demand.rounds_per_day
    if _seconds(works, node, MAX_NODES) > most_s:
        return None

    def is_enough(nodes: int) -> bool:
        return _seconds(works, node, nodes) <= most_s

    return 1 + bisect_left(range(1, MAX_NODES), True, key=is_enough)


def most_pages_per_day(demand: Demand, costs: Costs, node: Node) -> float:
    """What any number of nodes could fetch of these hosts, at the demand's rounds a day."""

    def is_possible(pages: float) -> bool:
        return fewest_nodes(replace(demand, pages_per_day=pages), costs, node) is not None

    low, high = 0.0, demand.pages_per_day
    if is_possible(high):
        return high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if is_possible(middle) else (low, middle)
    return low


def _enough(works: Sequence[PhaseWork], node: Node) -> int:
    """Nodes beyond which the day gets shorter by no more than a tenth."""
    nodes, least_s = 1, _seconds(works, node, MAX_NODES)
    while nodes < MAX_NODES and _seconds(works, node, nodes) > 1.1 * least_s:
        nodes = math.ceil(nodes * 1.1)
    return min(nodes, MAX_NODES)


def _phase(work: PhaseWork, node: Node, nodes: int, runs: float, prices: Prices) -> PhasePlan:
    time = phase_time(work, node, nodes)
    run = time.seconds / 3600 * nodes * prices.node_hour
    running = min(nodes * node.slots(work), work.tasks)
    requests = work.requests + work.requests_a_second.times(time.seconds * running)
    run += requests.puts / 1e6 * prices.million_puts + requests.gets / 1e6 * prices.million_gets
    return PhasePlan(work, runs, time, requests, run * (runs or 1.0))
