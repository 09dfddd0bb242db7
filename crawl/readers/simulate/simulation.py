"""How long a fetch would take, by running the fetcher in virtual time; how long requests take is
what the HostDb has measured, where it has, and an assumption else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.fetcher.drivers.simulate import (
    Latencies,
    Latency,
    ListedUrls,
    listed_urls,
    made_urls,
    makespan,
    plan_part,
    sizes_of_hosts,
)
from crawl.model.derived_tables import HOSTDB
from crawl.phases.fetch.run import choose
from crawl.phases.updatehostdb.tasks.latencies import measured_latencies
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.storage.parquet import each_group, open_table
from crawl.storage.reading import read_while_kept
from crawl.storage.segments import GENERATE, Segment, segment_name


@dataclass(frozen=True, slots=True)
class Source:
    """What is simulated: the URLs of each part."""

    name: str
    parts: list[tuple[int, Callable[[], ListedUrls]]]
    segment: Segment | None = None
    """Whose fetch list it is."""
    crawl_dir: CrawlDir | None = None


def segment_source(directory: CrawlDir, name: str | None) -> Source:
    """The fetch list of a segment: the named one, or the oldest that is not fetched yet."""
    if name is None:
        segment = choose(directory, None)
    else:
        segment = directory.segments.segment(segment_name(name))
    manifest = segment.require(GENERATE)
    return Source(
        f"{directory.address}/segments/{segment.name}",
        [(file.part, partial(listed_urls, segment.folder, file)) for file in manifest.files],
        segment,
        directory,
    )


def synthetic_source(hosts: int, urls: int, skew: float, parts: int, seed: int) -> Source:
    """So many URLs on so many hosts; the n-th has 1/n^skew as many as the first."""
    sizes = sizes_of_hosts(hosts, urls, skew)
    return Source(
        f"{urls:,} URLs on {hosts:,} hosts",
        [(part, partial(made_urls, sizes, part, parts, seed)) for part in range(min(parts, hosts))],
    )


def simulate(
    source: Source,
    config: Config,
    latency: Latency,
    *,
    tasks: int | None,
    seed: int,
    measured: bool,
) -> dict[str, Any]:
    """What comes out, under the keys of `crawl simulate --json`, when every part is run in virtual
    time; `tasks`: parts fetched at the same time. `measured`: a host answers as it did before,
    where the HostDb knows; else, and all others, as `latency` says."""
    latencies: Latencies = latency
    # of how many hosts on a list the answers' times were measured, and by which HostDb: None where
    # there is none, or nobody asked for it
    origins: dict[str, int | None] = {"hosts": 0, "measured": 0, "hostdb": None}
    if measured and source.segment is not None and source.crawl_dir is not None:
        latencies, origins = _measured(source.crawl_dir, source.segment, latency)
    plans = [
        plan_part(part, listed(), config, latencies, seed=seed) for part, listed in source.parts
    ]
    seconds = makespan([plan.seconds for plan in plans], tasks)
    records = sum(plan.counters["records"] for plan in plans)
    return {
        "source": source.name,
        "seconds": round(seconds, 3),
        "ideal_s": round(max((plan.ideal_s for plan in plans), default=0.0), 3),
        "urls": sum(plan.urls for plan in plans),
        "urls_per_s": round(records / seconds if seconds else 0.0, 3),
        "latencies": origins,
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
            for plan in plans
        ],
    }


def _measured(
    directory: CrawlDir, segment: Segment, latency: Latency
) -> tuple[Latencies, dict[str, int | None]]:
    dataset = directory.dataset(HOSTDB)
    hosts = _hosts_of(segment)

    def origins(count: int, hostdb: int | None) -> dict[str, int | None]:
        return {"hosts": len(hosts), "measured": count, "hostdb": hostdb}

    def read(state: Snapshot | None) -> tuple[Latencies, dict[str, int | None]]:
        if state is None:
            return latency, origins(0, None)
        measured = measured_latencies(dataset.folder, state, hosts, latency)
        return measured, origins(measured.hosts, state.number)

    def is_kept(state: Snapshot | None) -> bool:
        return state is None or dataset.is_kept(state)

    return read_while_kept(dataset.current, is_kept, read)


def _hosts_of(segment: Segment) -> pa.Array[Any]:
    """The hosts on a fetch list."""
    hosts: pa.Array[Any] = pa.array([], pa.string())
    folder = segment.part_folder(GENERATE)
    for file in segment.require(GENERATE).files:
        with open_table(folder, file.path, size=file.bytes) as source:
            for rows in each_group(source, ["host"]):
                more: Any = pc.unique(rows["host"].cast(pa.string()))
                hosts = pc.unique(pa.concat_arrays([hosts, more]))
    return hosts
