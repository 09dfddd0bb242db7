"""Asks some servers for their sitemaps: the work of one task, through the fetch engine."""

from __future__ import annotations

import random
from dataclasses import replace

from crawl.buckets.sitemap.session import ROBOTS_READ, SitemapSession
from crawl.buckets.sitemap.values import SitemapJob, SitemapTask, SitemapTaskResult
from crawl.config.properties import (
    FETCHER_THREADS_FETCH,
    SITEMAP_REDIR_MAX,
    SITEMAP_SIZE_MAX,
)
from crawl.counters import Counters
from crawl.fetcher.drivers.protocols import Protocols
from crawl.fetcher.drivers.threaded import ThreadedDriver
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.engine.robots_handler import ROBOTS_ON_OTHER_PART
from crawl.fetcher.hand_over import KnownRobots, KnownServers
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_HANG, FETCHER_QUEUE_MODE, FetchSettings
from crawl.net.dns import HostResolver
from crawl.urls.parse import host_of
from crawl.urls.partition import Partitioner, PartitionMode

_RENAMED = {
    "outlinks_followed": "sitemaps_followed",
    "outlinks_not_followed.": "sitemaps_not_followed.",
    "outlinks_not_served.": "sitemaps_not_asked.",
    "handed_back.": "sitemaps_not_asked.",
}
"""To the engine, a sitemap that another names is a link that is followed."""


def read_sitemaps(job: SitemapJob, task: SitemapTask) -> SitemapTaskResult:
    """Asks for all sources of the task, and for the sitemaps that they lead to."""
    limit = {"http.content.limit": job.config[SITEMAP_SIZE_MAX]}
    config = job.config.with_values(limit, SITEMAP_SIZE_MAX.name)
    protocols = Protocols(job.protocols, config)
    try:
        engine, session = sitemap_engine(job, task, protocols.resolver)
        driver = ThreadedDriver(
            engine,
            protocols.fetch,
            config[FETCHER_THREADS_FETCH],
            job.clock,
            hang_s=config[FETCHER_HANG],
            transfers=protocols.transfers(),
        )
        driver.run()
        engine.finish()
    finally:
        protocols.close()
    return finished(engine, session, job)


def sitemap_engine(
    job: SitemapJob, task: SitemapTask, resolver: HostResolver
) -> tuple[FetchEngine, SitemapSession]:
    """The engine of a task, and what it works for."""
    config = job.config

    def address_of(host: str) -> str | None:
        found = resolver.locate(host).addresses
        return found[0] if found else None

    partitioner = Partitioner(PartitionMode(config[FETCHER_QUEUE_MODE]), address_of)

    def key_of(host: str) -> str:
        return partitioner.key_of_host(host).key

    def owns_server(key: str) -> bool:
        return task.is_alone or key in task.server_keys

    session = SitemapSession(job, task, lambda url: owns_server(key_of(host_of(url) or "")))
    settings = replace(
        FetchSettings.of(config),
        store_content=True,
        store_robots=False,
        redirect_max=config[SITEMAP_REDIR_MAX],
        redirect_exceeded_skip=True,
    )
    hosts = {host_of(source.url) or "" for source in task.sources}
    known_robots = KnownRobots(job.handed_over.robots, hosts, settings.robots_keep_s, job.clock)
    hooks = EngineHooks(
        key_of=key_of,
        clock=job.clock,
        rng=random.Random(0),
        accept_target=session.accept_target,
        owns_server=owns_server,
        is_other_parts_server=lambda key: key in job.server_keys and not owns_server(key),
        address_of=address_of if Politeness.of(config).ip_delay_s > 0 else None,
        known_robots=known_robots.take,
        known_server=KnownServers(job.handed_over.servers, job.clock).take,
        why_left_out=session.why_left_out,
    )
    deadline = None
    if job.deadline_ms is not None:
        deadline = job.clock.monotonic() + (job.deadline_ms - job.clock.now_ms()) / 1000
    engine = FetchEngine(
        session.listed(), settings, Politeness.of(config), hooks, session, deadline=deadline
    )
    engine.queues.keep_pauses(job.servers, job.clock.monotonic())
    return engine, session


def finished(engine: FetchEngine, session: SitemapSession, job: SitemapJob) -> SitemapTaskResult:
    """The result of a task whose engine is done."""
    result = session.finish(engine.cross_part_authorities)
    result.servers = engine.queues.server_states(job.clock.monotonic())
    counters = Counters()
    for name, count in result.counters.items():
        known = next((prefix for prefix in _RENAMED if name.startswith(prefix)), "")
        counters[_RENAMED[known] + name[len(known) :] if known else name] += count
    del counters[f"sitemaps_not_asked.{ROBOTS_READ}"]
    del counters[f"sitemaps_not_asked.{ROBOTS_ON_OTHER_PART}"]  # they come again
    result.counters = counters
    return result
