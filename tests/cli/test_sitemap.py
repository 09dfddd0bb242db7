"""crawl sitemap through the command line, on Spark, over the synthetic web."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import hold_lock
from crawl.synthetic.web import (
    Settings,
    SitemapStyle,
    Web,
    before_robots,
    concurrency,
    duplicates,
    running,
)
from tests.cli.calling import Caller
from tests.phases.fetch_commands import write_conf
from tests.phases.made import datum, make_crawldb, records_of
from tests.phases.webs import AGENT
from tests.synthetic.web.sitemap_truth import sitemap_entries, sitemap_urls


def test_what_is_wrong_is_said_before_spark_starts(crawl: Caller, tmp_path: Path) -> None:
    agent = ["-D", "http.agent.name=testbot"]
    answer = crawl("sitemap", tmp_path / "c", *agent)
    assert answer.code == 2
    assert "has no CrawlDb yet" in answer.err
    answer = crawl("sitemap", tmp_path / "c", "--url", "ftp://a.test/s.xml", *agent)
    assert (answer.code, answer.err) == (2, "crawl: 'ftp://a.test/s.xml' is no http(s) URL\n")
    answer = crawl("sitemap", tmp_path / "c", "--no-hosts", *agent)
    assert (answer.code, answer.err) == (
        2,
        "crawl: neither hosts nor URLs to ask for sitemaps\n",
    )
    answer = crawl("sitemap", tmp_path / "c", "--url", "http://a.test/")
    assert answer.code == 2
    assert "http.agent.name" in answer.err
    answer = crawl("sitemap", tmp_path / "c", "--file", tmp_path / "none.txt", *agent)
    assert answer.code == 2
    assert "no such file or folder" in answer.err
    assert not (tmp_path / "c").exists()


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_sitemaps_are_read_and_summed_up(crawl: Caller, tmp_path: Path) -> None:
    web = Web(Settings.plain(6, 60, port=0, size=300, sitemaps=tuple(SitemapStyle)))
    with running(web) as server:
        conf = write_conf(tmp_path / "conf", server)
        web = server.web
        directory = make_crawldb(str(tmp_path / "c"), {url: datum() for url in web.seeds()})
        answer = crawl("sitemap", directory.address, "--conf", conf)
        assert answer.code == 0, answer.err
        rows = [line.split(maxsplit=3) for line in answer.out.splitlines()]
        assert ["hosts", "asked", "6"] in rows
        truth = sitemap_entries(web, AGENT).keys() | set(web.seeds())
        assert f"sitemap: {directory.address}/crawldb is now snapshot 2 with" in answer.err
        assert records_of(directory).keys() == truth
        log = server.requests()
        assert before_robots(log) == []
        assert duplicates(log) == {}
        assert max(concurrency(log).values()) == 1

        # one site, into a new CrawlDb
        front = tmp_path / "sites.txt"
        front.write_text(f"# a site\n{web.seeds()[0]}\n")
        other = CrawlDir(str(tmp_path / "other"))
        result = crawl("sitemap", other.address, "--file", front, "--conf", conf, "--json").json
        assert result["report"]["counters"]["hosts_asked"] == 1
        assert records_of(other).keys() == set(sitemap_urls(web, web.hosts()[0]))

        nothing = crawl(
            "sitemap", other.address, "--url", f"{web.seeds()[0]}none.xml", "--conf", conf
        )
        assert nothing.code == 1
        assert "sitemaps_failed.notfound 1" in nothing.err

        folder = directory.crawldb.folder
        with hold_lock(folder, "updatedb", SystemClock(), stale_after_ms=1e9, heartbeat_s=3600):
            assert crawl("sitemap", directory.address, "--conf", conf).code == 3
