"""What passes the driver of a `sitemap` grows with tasks and buckets, and not with hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.model.tables import SITEMAPS
from crawl.phases.sitemap import run as sitemap
from crawl.phases.sitemap.options import SitemapOptions
from crawl.storage.snapshot import SCRATCH
from tests.phases.counting_runner import CountingRunner
from tests.phases.made import datum, make_crawldb, records_of
from tests.phases.sitemap_web import SitemapWeb, config_of, index, robots, urlset

pytestmark = [pytest.mark.slow(seconds=30), pytest.mark.exhaustive]

BUCKETS, TASKS = 8, 6
FEW, MANY = 60, 900
"""Hosts."""
DIGITS = 6_000
"""Counters of more digits, and examples of more reasons."""


def web_of(hosts: list[str]) -> dict[str, bytes | str]:
    """Of each host an index, which names a sitemap on the next host. That lists URLs of both, and
    of a third one, which does not know of it; a fourth part has no sitemap."""
    pages: dict[str, bytes | str] = {}
    for number, host in enumerate(hosts):
        following, third = (hosts[(number + more) % len(hosts)] for more in (1, 2))
        sitemap_url = f"{following}/of-{number}.xml"
        if number % 4 == 3:
            pages[f"{host}/robots.txt"] = robots()
            continue
        pages[f"{host}/robots.txt"] = robots(f"{host}/index.xml")
        pages[f"{host}/index.xml"] = index(sitemap_url)
        pages[sitemap_url] = urlset(f"{host}/1", f"{following}/2", f"{third}/3")
    return pages


def driver_bytes(place: Path, web: SitemapWeb, name: str, count: int) -> int:
    """Of the sitemaps of all hosts of a CrawlDb."""
    hosts = [f"http://h{number}.test" for number in range(count)]
    web.pages = web_of(hosts)
    directory = make_crawldb(str(place), {f"{host}/": datum() for host in hosts}, buckets=BUCKETS)
    runner = CountingRunner()
    options = SitemapOptions(num_fetchers=TASKS, max_hosts=-1)
    config = config_of(name, report__samples=1)
    done = sitemap.run(runner, directory, config, options, SystemClock())
    counters = done.report.counters
    listing = sum(number % 4 != 3 for number in range(count))
    assert counters["hosts_asked"] == count
    assert counters["sitemaps_read"] == 2 * listing
    assert counters["sitemaps_failed.notfound"] == count - listing
    assert counters["urls_new"] == 2 * listing
    assert counters["urls_dropped.other_host"] == listing
    assert len(records_of(directory)) == count + 2 * listing
    assert directory.dataset(SITEMAPS).require_current().rows == count
    assert not [file for file in directory.folder.files() if f"/{SCRATCH}/" in file]
    return runner.driver_bytes


def test_what_passes_the_driver_does_not_grow_with_hosts(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    few = driver_bytes(tmp_path / "few", web, name, FEW)
    many = driver_bytes(tmp_path / "many", web, name, MANY)
    # of 840 hosts more: the name of each alone would be 9,000
    assert many - few < DIGITS, (few, many)
