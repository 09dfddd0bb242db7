"""What a crawl of a given size takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawl.config.resources import packaged
from crawl.errors import UsageError
from crawl.planning.capacity import Storage
from crawl.planning.cluster import Node, Plan, Prices, most_pages_per_day, plan
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
from crawl.readers.plan.options import PlanOptions


@dataclass(frozen=True, slots=True)
class Capacity:
    """A plan with what it was made for."""

    demand: Demand
    node: Node
    prices: Prices
    plan: Plan
    max_pages_per_day: float | None
    """That are possible, where the plan does not fit."""
    executors: ExecutorPlan | NoRoom


def plan_capacity(options: PlanOptions) -> Capacity:
    """The plan for what is asked; computed in milliseconds."""
    demand = Demand(
        urls=options.urls,
        hosts=options.hosts,
        pages_per_day=options.pages_per_day or options.urls / options.revisit_days,
        page_bytes=options.page_bytes,
        links=options.links,
        pace=HostPace(options.delay, options.latency),
        skew=options.skew,
        revisit_days=options.revisit_days,
        rounds_per_day=options.rounds_per_day,
        seeds=options.hosts if options.seeds is None else options.seeds,
        keep_days=options.revisit_days if options.keep_days is None else options.keep_days,
        buckets=options.buckets or 0,
    )
    costs = _costs(options.costs)
    node = Node(
        options.cores_per_node,
        options.memory_per_node,
        options.bandwidth_per_node,
        options.threads or filling_threads(demand, costs, options.use),
        options.use,
    )
    prices = Prices(
        options.price_per_node_hour,
        options.price_per_gb_month,
        options.price_per_million_puts,
        options.price_per_million_gets,
    )
    fewest = plan(demand, costs, node, options.nodes, prices)
    return Capacity(
        demand,
        node,
        prices,
        fewest,
        None if fewest.fits else most_pages_per_day(demand, costs, node),
        plan_executors(demand, costs, node, fewest.nodes),
    )


def _costs(path: str | None) -> Costs:
    if path is None:
        return read_costs((packaged() / FILE).read_text(), FILE)
    try:
        return read_costs(Path(path).read_text(), path)
    except OSError as error:
        raise UsageError(f"--costs: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--costs: {path} is no text") from None


def plan_values(capacity: Capacity) -> dict[str, Any]:
    """A capacity plan as plain values."""
    demand, node, plan = capacity.demand, capacity.node, capacity.plan
    most = capacity.max_pages_per_day
    return {
        "fits": plan.fits,
        "nodes": plan.nodes,
        "hours_per_day": round(plan.hours_per_day, 4),
        "most_pages_per_day": demand.pages_per_day if most is None else round(most),
        "pages_per_day": demand.pages_per_day,
        "polite_s": round(demand.polite_s, 3),
        "left_behind": round(plan.left_behind, 6),
        "slow_hosts": round(plan.slow_hosts),
        "storage_bytes": {
            "crawldb": round(plan.storage.updatedb),
            "segments": round(plan.storage.segments),
            "robots": round(plan.storage.robots),
        },
        "cost": {
            "per_day": round(plan.cost_per_day, 2),
            "storage_per_month": round(plan.storage_cost, 2),
        },
        "settings": {
            "crawldb.buckets": demand.bucket_count,
            "generate.top_n": round(demand.pages_per_round),
            "generate.max.count": round(plan.max_count),
            "fetcher.threads.fetch": node.threads,
        },
        "spark": executor_values(capacity.executors),
        "phases": [
            {
                "phase": phase.work.phase,
                "runs_per_day": phase.runs_per_day,
                "seconds": round(phase.time.seconds, 3),
                "hours_per_day": round(phase.hours_per_day, 4),
                "bound": phase.time.bound,
                "cpu_s": round(phase.work.cpu_s, 3),
                "web_bytes": round(phase.work.web_bytes),
                "read_bytes": round(phase.work.read_bytes),
                "written_bytes": round(phase.work.written_bytes),
                "exchanged_bytes": round(phase.work.exchanged_bytes),
                "puts": round(phase.requests.puts),
                "gets": round(phase.requests.gets),
                "driver_bytes": round(phase.work.driver_bytes),
                "http_requests": round(phase.work.http),
                "kept_bytes": round(_kept_bytes(plan.storage, phase.work.phase)),
                "cost": round(phase.cost, 4),
            }
            for phase in plan.phases
        ],
    }


def _kept_bytes(storage: Storage, phase: str) -> float:
    """What a phase writes and is kept: of a fetch also what it leaves to the next."""
    size: float = getattr(storage, phase, 0.0)
    return size + storage.robots if phase == "fetch" else size


def executor_values(executors: ExecutorPlan | NoRoom) -> dict[str, dict[str, str]]:
    """Settings to submit with, each with its reason; none where a node has no room."""
    if isinstance(executors, NoRoom):
        return {}
    return {
        setting.name: {"value": setting.value, "reason": setting.reason}
        for setting in spark_settings(executors)
    }
