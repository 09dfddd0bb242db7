"""A whole crawl through the API, in the session that is there already."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import crawl
from crawl.storage.chunks import CHUNKS
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


def polite(place: Path, delay_s: float) -> dict[str, object]:
    return {
        "http.agent.name": "mybot",
        "http.filter.ipaddress.allow.private": True,
        "http.resolver.hosts.file": str(place / "hosts.txt"),
        "fetcher.server.delay": delay_s,
        "http.robots.503.defer.visits.delay": "100ms",
        "crawldb.buckets": 2,
    }


@pytest.fixture(scope="module")
def web(spark: SparkSession, place: Path) -> Iterator[tuple[crawl.Crawl, Web]]:
    """A crawl of two rounds over a small synthetic web."""
    with running(Web(Settings(sites=3, pages=24))) as server:
        hosts = place / "hosts.txt"
        hosts.write_text(
            "".join(f"{server.web.address(host)} {host}\n" for host in server.web.hosts())
        )
        settings = polite(place, delay_s=0.01)
        with crawl.open(place / "crawl", settings=settings, progress=False) as opened:
            yield opened, server.web


def test_rounds_through_the_api(
    web: tuple[crawl.Crawl, Web], capsys: pytest.CaptureFixture[str]
) -> None:
    opened, served = web
    injected = opened.inject(served.seeds())
    assert (injected.snapshot, injected.counters["urls_new"]) == (1, 3)
    (segment,) = opened.generate(top_n=100).segments
    assert opened.simulate()["urls"] == 3
    fetched = opened.fetch()
    assert fetched.complete and fetched.segments == (segment,)
    assert opened.parse().counters["pages"] == fetched.counters["fetch_success"]
    assert opened.updatedb().counters["urls_new"] > 0
    done = opened.run(rounds=1)
    assert done.ending == "rounds_done" and done.rounds[0].fetched > 0
    assert opened.status()[-1]["state"] == "updated"
    assert "<td>" in done._repr_html_() and "<td>" in fetched._repr_html_()
    assert capsys.readouterr().out == ""
    assert not [name for name in Path(opened.address).iterdir() if "seeds" in name.name]


def test_the_costs_of_the_last_round(web: tuple[crawl.Crawl, Web]) -> None:
    opened, _ = web
    rows = opened.phase_costs()
    assert [row["phase"] for row in rows] == ["generate", "fetch", "parse", "updatedb"]
    assert {name for row in rows for name in row["segments"]} == {opened.segments()[-1]}
    for row in rows:
        assert row["jobs"] >= 1 and row["tasks"] >= row["jobs"], row
        assert row["bytes_read"] > 0 and row["bytes_written"] > 0, row
        assert row["driver_bytes"] == row["task_bytes"] + row["result_bytes"] > 0, row
        assert row["retried_tasks"] == 0 and row["result_limit_bytes"] == 1 << 30
    updated = rows[-1]
    assert updated["jobs"] == sum(step["jobs"] for step in updated["steps"].values())
    assert updated["bytes_written"] >= opened.snapshots()[-1]["bytes"]


def test_pages_are_the_newest_ones(web: tuple[crawl.Crawl, Web]) -> None:
    opened, served = web
    pages = opened.pages().to_pandas()
    assert set(pages.columns) >= {"url", "title", "text", "language", "segment", "outlinks"}
    fetched = opened.crawldb().where(("status", "=", "db_fetched")).select("url")
    assert set(pages["url"]) == {row["url"] for row in fetched}
    assert pages["url"].is_unique
    front = pages.set_index("url").loc[served.seeds()[0]]
    assert front["title"] and front["text"]


def test_tables_as_dataframes(web: tuple[crawl.Crawl, Web]) -> None:
    opened, _ = web
    counted = opened.dataframe(opened.crawldb()).groupBy("status").count().collect()
    assert {row["status"]: row["count"] for row in counted} == opened.stats()["status"]
    pages = opened.pages().where(("title", "!=", ""))
    rows = opened.dataframe(pages.select("url", "segment")).collect()
    assert {(row["url"], row["segment"]) for row in rows} == {
        (row["url"], row["segment"]) for row in pages
    }
    some = opened.dataframe(opened.crawldb().where(("score", ">", 0.5)).select("url")).collect()
    wanted = opened.crawldb().where(("score", ">", 0.5)).select("url")
    assert {row["url"] for row in some} == {row["url"] for row in wanted}


def test_every_table_of_a_segment(web: tuple[crawl.Crawl, Web]) -> None:
    opened, _ = web
    tables = opened.segment(opened.segments()[0])
    assert tables.generate().count() == 3
    assert {row["status"] for row in tables.fetch()} <= {"fetch_success", "fetch_gone"}
    assert tables.content().select("url", "code").head(1).to_pylist()[0]["code"] == 200
    assert tables.parse_data().count() == tables.parse_text().count() == tables.pages().count()
    assert "linked" in {row["status"] for row in tables.parse()}


def test_one_page_is_fetched_politely(web: tuple[crawl.Crawl, Web], place: Path) -> None:
    _, served = web
    page = crawl.fetch_page(served.seeds()[0], settings=polite(place, 0.01))
    assert (page.is_fetched, page.code) == (True, 200)
    assert page.robots.startswith("robots_")
    parsed = crawl.parse_page(page.content, page.url, content_type=page.content_type)
    assert parsed.title and parsed.links


def test_states_are_gone_back_to_and_forgotten(web: tuple[crawl.Crawl, Web]) -> None:
    opened, _ = web
    newest = opened.snapshots()[-1]["snapshot"]
    assert opened.rollback().snapshot == newest - 1
    assert opened.rollback(to=newest).snapshot == newest
    assert opened.gc(keep=1).counters["snapshots_kept"] == 1
    assert opened.rebucket(4).snapshot == newest + 1


def test_an_interrupt_ends_a_fetch_in_good_order(web: tuple[crawl.Crawl, Web], place: Path) -> None:
    opened, _ = web
    (name,) = opened.generate().segments
    slow = crawl.open(opened.address, settings=polite(place, 4.0), progress=False)
    folder = CrawlDir(opened.address).segments.segment(name).folder

    def interrupt() -> None:
        pause = threading.Event()
        while not folder.exists(CHUNKS):
            pause.wait(0.02)
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        slow.fetch()
    assert opened.status()[-1]["state"] == "interrupted"
    assert opened.fetch().complete


def test_the_session_of_others_stays_open(spark: SparkSession, tmp_path: Path) -> None:
    with crawl.open(tmp_path, progress=False) as opened:
        opened.inject(["http://a.test/"])
    assert spark.range(3).count() == 3
