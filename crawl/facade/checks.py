"""What a given amount of work takes; nothing is sent and nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crawl.config.resources import packaged
from crawl.planning.cluster import EXAMPLE_PRICES, Node, most_pages_per_day, plan
from crawl.planning.costs import FILE, read_costs
from crawl.planning.demand import Demand
from crawl.planning.executors import filling_threads, plan_executors
from crawl.readers.plan.capacity import plan_values

_REVISIT_DAYS = 30.0


def plan_crawl(
    urls: float,
    hosts: float,
    pages_per_day: float | None,
    nodes: int | None,
    others: Mapping[str, Any],
) -> dict[str, Any]:
    """Nodes, hours, storage, requests and money that a crawl takes, with the costs that come
    along and example prices."""
    days = float(others.get("revisit_days", _REVISIT_DAYS))
    demand = Demand(
        **{"seeds": hosts, "keep_days": days, **others},
        urls=urls,
        hosts=hosts,
        pages_per_day=pages_per_day or urls / days,
    )
    costs = read_costs((packaged() / FILE).read_text(), FILE)
    node = Node()
    node = replace(node, threads=filling_threads(demand, costs, node.use))
    found = plan(demand, costs, node, nodes, EXAMPLE_PRICES)
    most = None if found.fits else most_pages_per_day(demand, costs, node)
    executors = plan_executors(demand, costs, node, found.nodes)
    return plan_values(demand, node, found, most, executors)
