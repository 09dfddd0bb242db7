"""A capacity plan as plain values."""

from __future__ import annotations

from typing import Any

from crawl.planning.capacity import Storage
from crawl.planning.cluster import Node, Plan
from crawl.planning.demand import Demand
from crawl.planning.executors import ExecutorPlan, NoRoom, spark_settings


def plan_values(
    demand: Demand,
    node: Node,
    found: Plan,
    most: float | None,
    executors: ExecutorPlan | NoRoom,
) -> dict[str, Any]:
    """`most`: the pages a day that are possible, where the plan does not fit."""
    return {
        "fits": found.fits,
        "nodes": found.nodes,
        "hours_per_day": round(found.hours_per_day, 4),
        "most_pages_per_day": demand.pages_per_day if most is None else round(most),
        "pages_per_day": demand.pages_per_day,
        "polite_s": round(demand.polite_s, 3),
        "left_behind": round(found.left_behind, 6),
        "slow_hosts": round(found.slow_hosts),
        "storage_bytes": {
            "crawldb": round(found.storage.updatedb),
            "segments": round(found.storage.segments),
            "robots": round(found.storage.robots),
        },
        "cost": {
            "per_day": round(found.cost_per_day, 2),
            "storage_per_month": round(found.storage_cost, 2),
        },
        "settings": {
            "crawldb.buckets": demand.bucket_count,
            "generate.top_n": round(demand.pages_per_round),
            "generate.max.count": round(found.max_count),
            "fetcher.threads.fetch": node.threads,
        },
        "spark": executor_values(executors),
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
                "kept_bytes": round(_kept_bytes(found.storage, phase.work.phase)),
                "cost": round(phase.cost, 4),
            }
            for phase in found.phases
        ],
    }


def _kept_bytes(kept: Storage, phase: str) -> float:
    """What a phase writes and is kept: of a fetch also what it leaves to the next."""
    size: float = getattr(kept, phase, 0.0)
    return size + kept.robots if phase == "fetch" else size


def executor_values(executors: ExecutorPlan | NoRoom) -> dict[str, dict[str, str]]:
    """Settings to submit with, each with its reason; none where a node has no room."""
    if isinstance(executors, NoRoom):
        return {}
    return {
        setting.name: {"value": setting.value, "reason": setting.reason}
        for setting in spark_settings(executors)
    }
