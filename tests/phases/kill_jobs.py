"""The jobs that kill tests run in a child process."""

from __future__ import annotations

from typing import Any

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.hostgraph import run as hostgraph
from crawl.phases.hostgraph.options import HostGraphOptions
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.linkrank import run as linkrank
from crawl.phases.linkrank.options import LinkRankOptions
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.phases.refresh import run as refresh
from crawl.phases.refresh.options import RefreshOptions
from crawl.phases.scoreupdater import run as scoreupdater
from crawl.phases.scoreupdater.options import ScoreUpdaterOptions
from crawl.phases.sitemap import run as sitemap
from crawl.phases.sitemap.options import SitemapOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.phases.webgraph import run as webgraph
from crawl.phases.webgraph.options import WebGraphOptions
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web
from crawl.tables.runner import InProcess
from tests.phases.webs import web_config


def inject_seeds(address: str, seeds: str) -> None:
    inject.run(InProcess(), CrawlDir(address), Config(), InjectOptions((seeds,)), SystemClock())


def generate_marked(address: str, top_n: int) -> None:
    generate.run(
        InProcess(),
        CrawlDir(address),
        Config.of({"generate.update.crawldb": True}),
        GenerateOptions(top_n=top_n, num_fetchers=2, max_num_segments=2),
        SystemClock(),
        resolver=lambda host: None,
    )


def generate_unmarked(address: str, top_n: int) -> None:
    generate.run(
        InProcess(),
        CrawlDir(address),
        Config(),
        GenerateOptions(top_n=top_n, num_fetchers=2),
        SystemClock(),
        resolver=lambda host: None,
    )


def update_db(address: str, again: bool, repeat: bool = False, **settings: object) -> None:
    """`again`: with URLs normalised, which takes two steps more."""
    directory = CrawlDir(address)
    names = tuple(segment.name for segment in directory.segments.generated())
    options = UpdateDbOptions(
        names if repeat else (), normalize=again, again=repeat, steal_lock=repeat
    )
    updatedb.run(InProcess(), directory, Config.of(settings), options, SystemClock())


def update_small_files(address: str, again: bool, repeat: bool = False) -> None:
    """Where a file may have three rows."""
    update_db(address, again, repeat, **{"crawldb.file.rows": 3})


def rebucket_db(address: str, buckets: int) -> None:
    rebucket.run(InProcess(), CrawlDir(address), Config(), RebucketOptions(buckets), SystemClock())


def refresh_hosts(address: str, *hosts: str) -> None:
    refresh.run(InProcess(), CrawlDir(address), Config(), RefreshOptions(hosts), SystemClock())


def read_sitemaps(address: str, web: dict[str, Any]) -> None:
    """`web`: the settings of a synthetic web that is served, as JSON."""
    config = web_config(Web(Settings.from_json(web)), fetcher__server__delay=0)
    options = SitemapOptions(num_fetchers=2)
    sitemap.run(InProcess(), CrawlDir(address), config, options, SystemClock())


def build_webgraph(address: str) -> None:
    webgraph.run(InProcess(), CrawlDir(address), Config(), WebGraphOptions(), SystemClock())


def rank_links(address: str) -> None:
    options = LinkRankOptions(iterations=2)
    linkrank.run(InProcess(), CrawlDir(address), Config(), options, SystemClock())


def rank_trusted(address: str) -> None:
    """PageRank with a list of pages that are denied, which is beside the crawl."""
    options = LinkRankOptions(iterations=2, pagerank=True, deny=f"{address}.denied")
    linkrank.run(InProcess(), CrawlDir(address), Config(), options, SystemClock())


def rank_by_domain(address: str) -> None:
    options = LinkRankOptions(iterations=2, pagerank=True, by_domain=True)
    linkrank.run(InProcess(), CrawlDir(address), Config(), options, SystemClock())


def rank_hosts(address: str) -> None:
    hostgraph.run(InProcess(), CrawlDir(address), Config(), HostGraphOptions(), SystemClock())


def rank_domains(address: str) -> None:
    options = HostGraphOptions(NodeGroup.DOMAIN)
    hostgraph.run(InProcess(), CrawlDir(address), Config(), options, SystemClock())


def update_scores(address: str) -> None:
    scoreupdater.run(InProcess(), CrawlDir(address), Config(), ScoreUpdaterOptions(), SystemClock())


def mark_duplicates(address: str, near: str | None) -> None:
    options = DedupOptions(near=near, canonical=near is not None, redirects=near is not None)
    dedup.run(InProcess(), CrawlDir(address), Config(), options, SystemClock())
