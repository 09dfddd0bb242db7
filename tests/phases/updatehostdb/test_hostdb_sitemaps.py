"""What the HostDb says of sitemaps: as `crawl sitemap` met them, judged by what was served."""

from __future__ import annotations

import logging
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import NothingToDo, StorageError
from crawl.model.derived_tables import HOSTDB
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.model.tables import SITEMAPS
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.phases.sitemap import run as sitemap
from crawl.phases.sitemap.options import SitemapOptions
from crawl.readers.explain.bounds import known_host
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir, locked
from crawl.storage.hostdb import require_hostdb
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_table, open_writer
from crawl.synthetic.web import Settings, SitemapStyle, Web, running
from crawl.tables.runner import InProcess
from tests.phases.hosts import hosts_of, update_hosts
from tests.phases.kill_jobs import read_sitemaps
from tests.phases.killed import run_killed
from tests.phases.made import datum, make_crawldb, records_of
from tests.phases.sitemap_web import SitemapWeb, config_of, index, known, read, robots, urlset
from tests.phases.updating import S1, Crawl, fetched
from tests.phases.webs import AGENT, web_config
from tests.synthetic.web.sitemap_truth import sitemap_entries, sitemap_urls

A, B, C, D, E = (f"http://{name}.test" for name in "abcde")
STATE = ("read", "failed", "urls", "trouble")


def states(directory: CrawlDir) -> dict[str, tuple[Any, ...]]:
    """Of each host of the HostDb what became of its sitemaps."""
    update_hosts(directory)
    return {
        host.removesuffix(".test"): tuple(row[f"sitemaps_{name}"] for name in STATE)
        for host, row in hosts_of(directory).items()
    }


@pytest.mark.parametrize("tasks", [1, 4])
def test_the_hostdb_tells_what_became_of_each_hosts_sitemaps(
    tmp_path: Path, web: SitemapWeb, name: str, tasks: int
) -> None:
    web.pages = {
        f"{A}/robots.txt": robots(f"{A}/index.xml", f"{A}/list.txt", f"{A}/broken.xml"),
        f"{A}/index.xml": index(f"{A}/1.xml", f"{A}/gone.xml"),
        f"{A}/1.xml": urlset(*(f"{A}/{n}" for n in range(5))),
        f"{A}/list.txt": f"{A}/x\n{A}/y\n",
        f"{A}/broken.xml": "<html>",
        f"{C}/robots.txt": robots(f"{D}/of-c.xml"),  # on another server
        f"{D}/of-c.xml": urlset(f"{C}/1", f"{C}/2", f"{E}/not-its-own"),
        f"{D}/robots.txt": "User-agent: *\nDisallow: /sitemap.xml\n",
    }
    directory = known(tmp_path, *(f"{host}/" for host in (A, B, C, D)))
    done = read(directory, config_of(name), hosts=True, tasks=tasks)
    found = states(directory)
    assert found["a"][:3] == (3, 2, 7)
    reasons = {each.rpartition(".")[2] for each in done.report.counters if "_failed." in each}
    assert reasons == {"notfound", "robots_denied", "not_a_sitemap"}
    assert found["a"][3] in ("notfound", "not_a_sitemap")  # whichever came last
    assert found["b"] == (0, 1, 0, "notfound")
    assert found["c"] == (1, 0, 3, "")
    assert found["d"] == (0, 1, 0, "robots_denied")
    counters = done.report.counters
    assert sum(row[0] for row in found.values()) == counters["sitemaps_read"]
    assert sum(row[2] for row in found.values()) == counters["urls_listed"]
    row = hosts_of(directory)["a.test"]
    began = datetime.fromtimestamp(done.report.started_ms / 1000, UTC)
    assert row["sitemaps_asked_at"] == began
    assert row["robots_sitemaps"] == 3
    assert not check(directory, deep=True).faults


def test_a_host_that_nobody_asked_has_no_state_and_the_last_word_counts(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.pages = {f"{A}/s.xml": urlset(f"{A}/1"), f"{B}/s.xml": urlset(f"{B}/1", f"{B}/2")}
    directory = known(tmp_path, f"{A}/", f"{B}/", f"{C}/")
    read(directory, config_of(name), f"{A}/s.xml", f"{B}/s.xml")
    unknown = (None, None, None, None)
    assert states(directory) == {"a": (1, 0, 1, ""), "b": (1, 0, 2, ""), "c": unknown}
    first = hosts_of(directory)
    web.pages = {f"{A}/s.xml": urlset(f"{A}/1", f"{A}/2", f"{A}/3")}
    read(directory, config_of(name), f"{A}/s.xml")
    with pytest.raises(NothingToDo, match="sitemaps_failed.notfound 1"):
        read(directory, config_of(name), f"{C}/s.xml")
    found = states(directory)
    assert found == {"a": (1, 0, 3, ""), "b": (1, 0, 2, ""), "c": (0, 1, 0, "notfound")}
    now = hosts_of(directory)
    assert now["b.test"]["sitemaps_asked_at"] == first["b.test"]["sitemaps_asked_at"]
    assert now["a.test"]["sitemaps_asked_at"] > first["a.test"]["sitemaps_asked_at"]
    # what the HostDb knows stays where the dataset is lost, and all of it where it is begun anew
    directory.dataset(SITEMAPS).folder.delete("")
    assert states(directory) == found
    update_hosts(directory, rebuild=True)
    assert {row["sitemaps_read"] for row in hosts_of(directory).values()} == {None}


def test_a_sitemap_that_another_host_names_first_is_told_of_its_own(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    """Also where its own robots.txt, which comes later, does not name it."""
    web.pages = {
        f"{A}/robots.txt": robots(f"{B}/sitemap.xml"),
        f"{B}/sitemap.xml": urlset(f"{B}/1"),
    }
    directory = known(tmp_path, f"{A}/", f"{B}/")
    config = config_of(name, fetcher__threads__fetch=1)
    read(directory, config, f"{A}/", f"{B}/", tasks=1)
    assert web.asked[:2] == [f"{A}/robots.txt", f"{B}/robots.txt"]
    assert states(directory) == {"a": (0, 0, 0, ""), "b": (1, 0, 1, "")}


def test_a_damaged_dataset_is_begun_anew_and_a_taken_one_left(
    tmp_path: Path, web: SitemapWeb, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    web.pages = {f"{A}/s.xml": urlset(f"{A}/1"), f"{B}/s.xml": urlset(f"{B}/1")}
    directory = known(tmp_path, f"{A}/", f"{B}/")
    read(directory, config_of(name), f"{A}/s.xml")
    dataset = directory.dataset(SITEMAPS)
    for file in dataset.require_current().files:
        dataset.folder.write(file.path, b"no Parquet")
    done = update_hosts(directory)
    assert done.report.counters["cache_files_unread"] == 1
    assert hosts_of(directory)["a.test"]["sitemaps_read"] is None
    with caplog.at_level(logging.WARNING):
        read(directory, config_of(name), f"{A}/s.xml")
    assert "what is known of sitemaps is begun anew" in caplog.text
    assert states(directory)["a"] == (1, 0, 1, "")
    caplog.clear()
    with locked(dataset.folder, "another", Config(), SystemClock()):
        read(directory, config_of(name), f"{B}/s.xml")
    assert "what became of sitemaps is not kept" in caplog.text
    assert f"{B}/1" in records_of(directory)
    assert states(directory)["b"] == (None, None, None, None)


def make_old(directory: CrawlDir) -> None:
    """The HostDb as it was before it told of sitemaps."""
    dataset = directory.dataset(HOSTDB)
    with directory.writing(dataset, "old", Config(), SystemClock()) as transaction:
        assert transaction.base is not None
        files = []
        for file in transaction.base.files:
            with open_table(dataset.folder, file.path) as source:
                rows: pa.Table = source.read()
            rows = rows.drop_columns(
                [each for each in rows.column_names if each.startswith("sitemaps_")]
            )
            path = f"{transaction.place}/part-{file.bucket:05d}-0.parquet"
            with open_writer(dataset.folder, path, rows.schema) as writer:
                writer.write(rows)
            size = dataset.folder.size(path) or 0
            files.append(BucketFile(file.bucket, path, file.rows, size))
        transaction.publish(
            files,
            Report("updatehostdb", 0, "", {}),
            buckets=transaction.base.buckets,
            keep=1,
        )


@pytest.mark.parametrize("buckets", [4, 8])
def test_a_hostdb_of_before_is_one_line_and_is_taken_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, buckets: int
) -> None:
    crawl = Crawl(tmp_path, {f"{A}/": datum()}, buckets=4)
    crawl.segment(S1, [(f"{A}/", fetched(Status.FETCH_SUCCESS))])
    directory = crawl.directory
    update_hosts(directory)
    wanted = hosts_of(directory)
    assert wanted["a.test"]["requests"] == 1
    make_old(directory)
    crawl.directory.segments.folder.delete(S1)  # nobody could count it again
    with pytest.raises(StorageError, match="the HostDb of another version: `crawl updatehostdb"):
        require_hostdb(directory)
    with caplog.at_level(logging.WARNING):
        assert known_host(directory, "a.test", Config()).values is None
    assert "another version" in caplog.text and "explained without it" in caplog.text
    if buckets != 4:
        rebucket.run(InProcess(), directory, Config(), RebucketOptions(buckets), SystemClock())
    update_hosts(directory)
    assert require_hostdb(directory).buckets == buckets
    assert hosts_of(directory) == wanted


SHAPE = Settings(sites=28, pages=400, port=0, size=300, crawl_delay=0.05, retry_after=0)


@pytest.mark.slow(seconds=20)
def test_the_states_are_those_of_the_synthetic_web(tmp_path: Path) -> None:
    with running(Web(SHAPE)) as server:
        web = server.web
        directory = make_crawldb(str(tmp_path / "c"), {url: datum() for url in web.seeds()})
        config, clock = web_config(web), SystemClock()
        done = sitemap.run(InProcess(2), directory, config, SitemapOptions(num_fetchers=2), clock)
        log = server.requests()
    update_hosts(directory, settings={"http.agent.name": AGENT})
    rows = hosts_of(directory)
    counters = done.report.counters
    failed = {name for name in counters if name.startswith("sitemaps_failed.")}
    assert failed >= {"sitemaps_failed.notfound", "sitemaps_failed.robots_denied"}
    known_urls = 0
    for site, host in enumerate(web.hosts()):
        row = rows[host]
        style = SHAPE.sitemaps[site % len(SHAPE.sitemaps)]
        answers = [entry for entry in log if entry.host == host and "robots" not in entry.path]
        read_ok = sum(entry.status == 200 for entry in answers)
        missing = sum(entry.status == 404 for entry in answers)
        if row["robots_code"] is None:  # its robots.txt could not be had
            assert not answers
            assert (row["sitemaps_read"], row["sitemaps_trouble"]) == (0, "not_asked")
            continue
        assert (row["sitemaps_read"], row["sitemaps_failed"] >= missing) == (read_ok, True)
        if style is SitemapStyle.MISSING and answers:
            assert (row["sitemaps_failed"], row["sitemaps_trouble"]) == (1, "notfound")
        if not answers:
            assert (row["sitemaps_failed"], row["sitemaps_trouble"]) == (1, "robots_denied")
        plain = (SitemapStyle.PLAIN, SitemapStyle.GZIP, SitemapStyle.TEXT, SitemapStyle.NESTED)
        if style in plain and answers:
            assert row["sitemaps_urls"] == len(sitemap_urls(web, host))
            known_urls += row["sitemaps_urls"]
        rules = web.expected(f"http://{host}:{web.settings.port}/robots.txt")
        if row["robots_code"] == rules.code == 200:
            lines = rules.body.lower().split(b"\n")
            assert row["robots_sitemaps"] == sum(line.startswith(b"sitemap:") for line in lines)
        assert row["crawl_delay_s"] == (web.crawl_delay(host) or 0)
    assert known_urls > 50
    assert sum(row["sitemaps_read"] or 0 for row in rows.values()) == counters["sitemaps_read"]
    assert sum(row["sitemaps_failed"] or 0 for row in rows.values()) == sum(
        counters[name] for name in failed
    )
    assert any(row["crawl_delay_s"] == 0.05 for row in rows.values())
    assert any(row["robots_sitemaps"] for row in rows.values())


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=30)
def test_a_killed_job_has_told_of_no_sitemap_whose_urls_are_not_there(tmp_path: Path) -> None:
    shape = Settings.plain(2, 20, size=300, sitemaps=(SitemapStyle.PLAIN,))
    with running(Web(shape)) as server:
        web = server.web
        base = make_crawldb(str(tmp_path / "c"), {url: datum() for url in web.seeds()})
        listed = sitemap_entries(web, AGENT).keys()
        at, is_killed, met = 1, True, set()
        while is_killed:
            wreck = CrawlDir(str(shutil.copytree(base.address, tmp_path / f"killed-{at}")))
            is_killed = run_killed(read_sitemaps, wreck.address, web.settings.as_json(), at=at)
            told = {row[0] for row in states(wreck).values()}
            assert told in ({None}, {1})
            if told == {1}:
                assert listed <= records_of(wreck).keys()
            met |= told
            at += 5  # a part of the moments of death, for each costs a crawl
        assert met == {None, 1}
