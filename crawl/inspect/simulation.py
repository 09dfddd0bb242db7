"""How long a fetch would take, by running the fetcher in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from crawl.config import Config
from crawl.fetcher.drivers.simulate import (
    Latency,
    ListedUrls,
    PartPlan,
    listed_urls,
    made_urls,
    makespan,
    plan_part,
    sizes_of_hosts,
)
from crawl.phases.fetch import choose
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import GENERATE, segment_name


@dataclass(frozen=True, slots=True)
class Source:
    """What is simulated: the URLs of each part."""

    name: str
    parts: list[tuple[int, Callable[[], ListedUrls]]]


def segment_source(crawl_dir: str, name: str | None) -> Source:
    """The fetch list of a segment: the named one, or the oldest that is not fetched yet."""
    directory = CrawlDir(crawl_dir)
    if name is None:
        segment = choose(directory, None)
    else:
        segment = directory.segments.segment(segment_name(name))
    manifest = segment.require(GENERATE)
    return Source(
        f"{crawl_dir}/segments/{segment.name}",
        [(file.part, partial(listed_urls, segment.folder, file)) for file in manifest.files],
    )


def synthetic_source(hosts: int, urls: int, skew: float, parts: int, seed: int) -> Source:
    """So many URLs on so many hosts; the n-th has 1/n^skew as many as the first."""
    sizes = sizes_of_hosts(hosts, urls, skew)
    return Source(
        f"{urls:,} URLs on {hosts:,} hosts",
        [(part, partial(made_urls, sizes, part, parts, seed)) for part in range(min(parts, hosts))],
    )


@dataclass(frozen=True, slots=True)
class Simulation:
    """What came out."""

    name: str
    plans: list[PartPlan]
    seconds: float

    @property
    def urls_per_s(self) -> float:
        records = sum(plan.counters["records"] for plan in self.plans)
        return records / self.seconds if self.seconds else 0.0

    def values(self) -> dict[str, Any]:
        """As plain values, under the keys of `crawl simulate --json`."""
        return {
            "source": self.name,
            "seconds": round(self.seconds, 3),
            "ideal_s": round(max((plan.ideal_s for plan in self.plans), default=0.0), 3),
            "urls": sum(plan.urls for plan in self.plans),
            "urls_per_s": round(self.urls_per_s, 3),
            "parts": [
                {
                    "part": plan.part,
                    "urls": plan.urls,
                    "hosts": plan.hosts,
                    "threads": plan.threads,
                    "seconds": round(plan.seconds, 3),
                    "ideal_s": round(plan.ideal_s, 3),
                    "thread_use": round(plan.thread_use, 4),
                    "urls_per_s": round(plan.urls_per_s, 3),
                    "requests": plan.counters["requests"],
                    "robots_requests": plan.counters["robots_requests"],
                    "handed_back": plan.handed_back,
                    "longest": [
                        {
                            "host": host.key,
                            "requests": host.requests,
                            "ended_s": round(host.ended_s, 3),
                            "asking_s": round(host.asking_s, 3),
                            "pausing_s": round(host.pausing_s, 3),
                            "waiting_s": round(host.waiting_s, 3),
                        }
                        for host in plan.longest
                    ],
                }
                for plan in self.plans
            ],
        }


def simulate(
    source: Source, config: Config, latency: Latency, *, tasks: int | None, seed: int
) -> Simulation:
    """Runs every part in virtual time; `tasks`: parts fetched at the same time."""
    plans = [plan_part(part, listed(), config, latency, seed=seed) for part, listed in source.parts]
    return Simulation(source.name, plans, makespan([plan.seconds for plan in plans], tasks))
