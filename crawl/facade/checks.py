"""What a crawl would do with a URL, a robots.txt or a given amount of work; nothing is sent
and nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from crawl.config import Config
from crawl.config.resources import packaged
from crawl.errors import UsageError
from crawl.interfaces.chain_steps import filter_steps, normal_form, normalizer_steps
from crawl.interfaces.chains import URLNORMALIZER_LOOP_COUNT, FilterChain, NormalizerChain
from crawl.planning.cluster import EXAMPLE_PRICES, Node, most_pages_per_day, plan
from crawl.planning.costs import FILE, read_costs
from crawl.planning.demand import Demand
from crawl.planning.executors import filling_threads, plan_executors
from crawl.readers.plan.capacity import plan_values
from crawl.robots.read import read_rules

_REVISIT_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class UrlCheck:
    """What normalizers and filters make of a URL."""

    url: str
    normal: str | None
    """In normal form; None for a text that is no URL."""
    accepted: bool
    """Whether the filters let the normal form in."""
    rejected_by: str
    """The filter that does not; empty where all do."""
    reason: str
    steps: tuple[dict[str, Any], ...]
    """What each normalizer and each filter said."""


def check_one_url(url: str, config: Config) -> UrlCheck:
    """Asks the configured normalizers, then the filters."""
    if not isinstance(url, str):
        raise UsageError(f"a URL is a text, not {url!r}")
    normalizing = normalizer_steps(
        NormalizerChain.from_config(config), url, config[URLNORMALIZER_LOOP_COUNT]
    )
    normal = normal_form(url, normalizing)
    filtering = () if normal is None else filter_steps(FilterChain.from_config(config), normal)
    rejection = next((step for step in filtering if step.reason is not None), None)
    return UrlCheck(
        url,
        normal,
        normal is not None and rejection is None,
        rejection.plugin if rejection else "",
        (rejection.reason or "") if rejection else "",
        (*(asdict(step) for step in normalizing), *(asdict(step) for step in filtering)),
    )


def is_allowed_by(robots_txt: bytes | str, url: str, agents: tuple[str, ...]) -> bool:
    """Whether a robots.txt of these bytes allows the URL."""
    raw = robots_txt.encode() if isinstance(robots_txt, str) else robots_txt
    return read_rules(raw, agents).allows(url)


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
