"""sitemap over the synthetic web, judged by the web's truth and by the server's own log."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.model.status import Status
from crawl.phases.sitemap import run as sitemap
from crawl.phases.sitemap.options import SitemapOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import (
    Settings,
    SitemapFacts,
    SitemapStyle,
    Web,
    WebServer,
    before_robots,
    by_ip,
    concurrency,
    disallowed,
    duplicates,
    gaps,
    running,
)
from crawl.tables.runner import InProcess
from tests.phases.kill_jobs import read_sitemaps
from tests.phases.killed import run_killed
from tests.phases.made import datum, make_crawldb, records_of
from tests.phases.webs import AGENT, web_config
from tests.synthetic.web.sitemap_truth import sense_of, sitemap_entries, sitemap_urls

pytestmark = pytest.mark.slow

DELAY = 0.02
# eleven styles of sitemaps and fourteen of robots.txt, so that sites have many pairs of them
SHAPE = Settings(sites=30, pages=700, port=0, size=300, crawl_delay=0.05, retry_after=0)
INTERVALS = {"weekly": 604_800, "monthly": 2_592_000, "yearly": 7_776_000, "never": 7_776_000}


def run(directory: CrawlDir, config: Config, tasks: int) -> CrawlDbUpdate:
    options = SitemapOptions(num_fetchers=tasks)
    return sitemap.run(InProcess(tasks), directory, config, options, SystemClock())


def front_pages(tmp_path: Path, web: Web) -> CrawlDir:
    return make_crawldb(str(tmp_path / "c"), {url: datum() for url in web.seeds()})


def assert_true(directory: CrawlDir, web: Web, done: CrawlDbUpdate) -> None:
    """The CrawlDb has what the sitemaps may list, as they say it, and nothing else."""
    records = records_of(directory)
    truth = sitemap_entries(web, AGENT)
    seeds = set(web.seeds())
    assert records.keys() == truth.keys() | seeds
    for url, record in records.items():
        facts = truth.get(url, SitemapFacts())
        assert record.metadata == {
            f"sitemap.{name}": said for name, said in sense_of(facts).items()
        }
        assert record.status is Status.DB_UNFETCHED
        if url not in seeds:
            changes = sense_of(facts).get("changefreq", "monthly")
            assert record.fetch_interval == INTERVALS.get(changes, 86_400)
            assert record.score == pytest.approx(float(sense_of(facts).get("priority", "0.5")))
            assert record.fetch_time == done.report.started_ms
    counters = done.report.counters
    dropped = sum(count for name, count in counters.items() if name.startswith("urls_dropped."))
    kept = counters["urls_new"] + counters["urls_known"] + counters["urls_repeated"]
    assert counters["urls_listed"] == kept + dropped
    assert counters["urls_new"] == len(truth.keys() - seeds)


def assert_polite(server: WebServer) -> None:
    log = server.requests()
    assert disallowed(log, server.web, AGENT) == []
    assert before_robots(log) == []
    assert max(concurrency(log).values()) == 1
    assert gaps(log)[0].seconds >= DELAY
    assert duplicates(log) == {}


def test_the_truth_has_every_kind_of_sitemap() -> None:
    web = Web(SHAPE)
    truth = sitemap_entries(web, AGENT)
    for site, host in enumerate(web.hosts()):
        found = [url for url in sitemap_urls(web, host) if url in truth]
        if SHAPE.sitemaps[site % len(SHAPE.sitemaps)] is SitemapStyle.MISSING:
            assert not sitemap_urls(web, host)
        elif web.allowed(f"http://{host}/sitemap.xml", AGENT):
            assert found == sitemap_urls(web, host)
    # listed by a sitemap of the site before alone, which their robots.txt names
    assert truth.keys() - {url for host in web.hosts() for url in sitemap_urls(web, host)}


@pytest.mark.parametrize("tasks", [1, 5])
def test_the_crawldb_is_what_the_sitemaps_say_and_the_log_shows_a_polite_crawler(
    tmp_path: Path, tasks: int
) -> None:
    with running(Web(SHAPE)) as server:
        web = server.web
        directory = front_pages(tmp_path, web)
        done = run(directory, web_config(web), tasks)
        assert_polite(server)
        asked = {entry.path for entry in server.requests()}
        assert {"/robots.txt", "/sitemap.xml", "/sitemap-1.xml.gz", "/maps/sitemap.xml"} <= asked
    assert_true(directory, web, done)
    counters = done.report.counters
    for kind in ("urlset", "sitemapindex", "text"):
        assert counters[f"sitemaps_read.{kind}"] > 0
    for reason in ("other_host", "media"):
        assert counters[f"urls_dropped.{reason}"] > 0


@pytest.mark.parametrize(
    "settings",
    [{"fetcher__queue__mode": "byIP"}, {"fetcher__server__ip__delay": 0.01}],
    ids=["byIP", "ip-delay"],
)
def test_hosts_that_share_an_address_are_asked_in_turns(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    shape = Settings(sites=12, pages=100, size=300, addresses=3, crawl_delay=0.05, retry_after=0)
    with running(Web(shape)) as server:
        directory = front_pages(tmp_path, server.web)
        run(directory, web_config(server.web, **settings), tasks=4)
        log = server.requests()
    assert max(concurrency(log, by_ip).values()) == 1
    assert gaps(log, by_ip)[0].seconds >= 0.01


def test_a_job_that_is_killed_leaves_the_crawldb_as_it_was_and_can_be_run_again(
    tmp_path: Path,
) -> None:
    shape = Settings.plain(4, 60, size=300, sitemaps=(SitemapStyle.GZIP,))
    with running(Web(shape)) as server:
        web = server.web
        base = front_pages(tmp_path, web)
        before = records_of(base)
        after = before.keys() | sitemap_entries(web, AGENT).keys()
        at, is_killed = 1, True
        while is_killed:
            wreck = CrawlDir(str(tmp_path / f"killed-{at}"))
            shutil.copytree(base.address, wreck.address)
            is_killed = run_killed(read_sitemaps, wreck.address, web.settings.as_json(), at=at)
            found = records_of(wreck)
            assert found == before or found.keys() == after
            read_sitemaps(wreck.address, web.settings.as_json())
            assert records_of(wreck).keys() == after
            at += 7  # a part of the moments of death, for each costs a crawl
        assert at > 16
