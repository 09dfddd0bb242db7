"""sitemap: what becomes of the records of the CrawlDb, in memory and without a JVM."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from crawl.clock import SystemClock
from crawl.model.status import Status
from crawl.phases.sitemap import run as sitemap
from crawl.phases.sitemap.options import SitemapOptions
from crawl.tables.runner import InProcess
from tests.phases.made import DAY, datum, make_crawldb, records_of
from tests.phases.sitemap_web import SitemapWeb, config_of, known, read, urlset

A = "http://a.test"


def as_date(ms: int) -> str:
    """A moment as sitemaps write it."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC).isoformat()


def test_facts_become_score_interval_due_date_and_metadata(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    now = SystemClock().now_ms()
    fetched = {"status": Status.DB_FETCHED, "fetch_interval": 30 * 86_400, "score": 3.0}
    directory = make_crawldb(
        str(tmp_path / "c"),
        {
            f"{A}/changed": datum(fetch_time=now + 10 * DAY, metadata={"x": "y"}, **fetched),
            f"{A}/same": datum(fetch_time=now + 10 * DAY, **fetched),
            f"{A}/fresh": datum(fetch_time=now + 30 * DAY - 3_600_000, **fetched),
            f"{A}/failed": datum(fetch_time=now + DAY, retries=2),
        },
    )
    before = records_of(directory)

    def entry(path: str, lastmod: int, others: str = "") -> str:
        return f"<url><loc>{A}/{path}</loc><lastmod>{as_date(lastmod)}</lastmod>{others}</url>"

    web.pages[f"{A}/sitemap.xml"] = (
        "<urlset>"
        + entry("changed", now - 5 * DAY, "<priority>0.9</priority><changefreq>daily</changefreq>")
        + entry("same", now - 25 * DAY)
        + entry("fresh", now)
        + entry("failed", now)
        + entry("new", now, "<priority>0.8</priority><changefreq>Hourly</changefreq>")
        + entry("odd", now + 9 * DAY, "<priority>high</priority><changefreq>now</changefreq>")
        + f"<url><loc>{A}/bare</loc></url></urlset>"
    )
    counters = read(directory, config_of(name), f"{A}/").report.counters
    after = records_of(directory)
    assert now <= after[f"{A}/changed"].fetch_time < now + DAY
    assert after[f"{A}/changed"].score == 3.0
    assert after[f"{A}/changed"].metadata == {
        "x": "y",
        "sitemap.lastmod": as_date(now - 5 * DAY),
        "sitemap.changefreq": "daily",
        "sitemap.priority": "0.9",
    }
    assert after[f"{A}/same"].fetch_time == before[f"{A}/same"].fetch_time
    # fetched an hour ago, so that it has to wait for the rest of a day
    assert after[f"{A}/fresh"].fetch_time == before[f"{A}/fresh"].fetch_time - 29 * DAY
    assert after[f"{A}/failed"].fetch_time == before[f"{A}/failed"].fetch_time
    new, odd, bare = after[f"{A}/new"], after[f"{A}/odd"], after[f"{A}/bare"]
    assert (new.status, new.modified_time) == (Status.DB_UNFETCHED, 0)
    assert (round(new.score, 6), new.fetch_interval) == (0.8, 86_400)
    assert (odd.score, odd.fetch_interval, odd.metadata) == (0.5, 2_592_000, {})
    assert (bare.score, bare.metadata) == (0.5, {})
    assert [counters[f"facts_ignored.{f}"] for f in ("lastmod", "changefreq", "priority")] == [
        1
    ] * 3
    assert counters["urls_due_earlier"] == 2

    config = config_of(name, sitemap__url__overwrite__existing=True)
    read(directory, config, f"{A}/")
    over = records_of(directory)[f"{A}/changed"]
    assert (round(over.score, 6), over.fetch_interval) == (0.9, 86_400)


def test_translations_are_taken_and_images_only_if_wanted(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.pages[f"{A}/sitemap.xml"] = (
        f'<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:image="urn:i"><url>'
        f"<loc>{A}/en</loc><priority>1</priority>"
        f'<xhtml:link rel="alternate" hreflang="de" href="{A}/de"/>'
        f"<image:image><image:loc>{A}/i.png</image:loc></image:image></url>"
        f"<url><loc>{A}/de</loc><priority>0.9</priority></url></urlset>"
    )
    directory = known(tmp_path, f"{A}/")
    counters = read(directory, config_of(name), hosts=True).report.counters
    found = records_of(directory)
    assert found.keys() == {f"{A}/", f"{A}/en", f"{A}/de"}
    assert found[f"{A}/de"].metadata == {"sitemap.priority": "0.9"}  # says more than a link
    assert counters["urls_dropped.media"] == 1
    assert counters["urls_repeated"] == 1
    read(directory, config_of(name, sitemap__url__media=True), hosts=True)
    assert f"{A}/i.png" in records_of(directory)


def test_urls_are_normalized_and_filtered(tmp_path: Path, web: SitemapWeb, name: str) -> None:
    web.pages[f"{A}/sitemap.xml"] = urlset("http://A.test:80/x/../y", f"{A}/z")
    directory = known(tmp_path, f"{A}/")
    files = {"prefix.txt": f"{A}/y\n"}
    config = config_of(
        name, files, urlfilter__order=["prefix"], urlfilter__prefix__file="prefix.txt"
    )
    counters = read(directory, config, hosts=True).report.counters
    assert records_of(directory).keys() == {f"{A}/", f"{A}/y"}
    assert counters["urls_dropped.filtered"] == 1


def test_hosts_are_chosen_by_their_urls_and_those_in_trouble_left_alone(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    urls = [f"http://h{n}.test/{page}" for n in range(5) for page in range(n + 1)]
    directory = known(tmp_path, *urls, "https://h4.test/", "file:///x")
    web.pages = {f"http://h{n}.test/sitemap.xml": urlset(f"http://h{n}.test/new") for n in range(5)}
    config = config_of(name, sitemap__max__hosts=2)
    counters = read(directory, config, hosts=True).report.counters
    assert {url.split("/")[2] for url in web.asked} == {"h4.test", "h3.test"}
    assert not any(url.startswith("https") for url in web.asked)
    assert counters["hosts_left_out.too_many"] == 3
    options = SitemapOptions(max_hosts=-1)
    sitemap.run(InProcess(), directory, config, options, SystemClock())
    assert {f"http://h{n}.test/new" for n in range(5)} < records_of(directory).keys()
