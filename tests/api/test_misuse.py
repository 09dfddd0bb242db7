"""Misuse of the API gives the one-line errors of the command line, before Spark starts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crawl
from crawl.clock import SystemClock
from crawl.errors import Locked, NoSnapshot, UsageError
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.lock import LOCK_NAME, hold_lock
from tests.parsing.small_parsers import content
from tests.phases.fetched import fetched_segment
from tests.phases.made import datum, make_crawldb
from tests.phases.webs import listed
from tests.test_public import public_methods

Use = Callable[[crawl.Crawl], object]
URL = "http://a.test/"
SETTINGS = {"http.agent.name": "mybot"}


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: Any, **__: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SparkOptions, "session", started)


@pytest.fixture
def web(tmp_path: Path) -> crawl.Crawl:
    make_crawldb(str(tmp_path / "c"), {URL: datum()})
    return crawl.open(tmp_path / "c", settings=SETTINGS)


def one_line(error: pytest.ExceptionInfo[BaseException]) -> str:
    message = str(error.value)
    assert message and "\n" not in message
    return message


WRONG_TYPES: dict[str, Use] = {
    "urls": lambda web: web.inject(3),  # type: ignore[arg-type]
    "files": lambda web: web.inject(files=[3]),  # type: ignore[list-item]
    "top_n": lambda web: web.generate(top_n="many"),  # type: ignore[arg-type]
    "num_fetchers": lambda web: web.generate(num_fetchers=0),
    "max_num_segments": lambda web: web.generate(max_num_segments=True),
    "add_days": lambda web: web.generate(add_days="soon"),  # type: ignore[arg-type]
    "expr": lambda web: web.generate(expr=3),  # type: ignore[arg-type]
    "segment": lambda web: web.fetch(20261115093000),  # type: ignore[arg-type]
    "threads": lambda web: web.fetch(threads=0.5),  # type: ignore[arg-type]
    "segments": lambda web: web.updatedb(20261115093000),  # type: ignore[arg-type]
    "rounds": lambda web: web.run(rounds="2"),  # type: ignore[arg-type]
    "time_limit_min": lambda web: web.run(time_limit_min="1h"),  # type: ignore[arg-type]
    "wait": lambda web: web.run(wait=10),  # type: ignore[arg-type]
    "then": lambda web: web.run(then=[3]),  # type: ignore[list-item]
    "patterns": lambda web: web.refresh([3]),  # type: ignore[list-item]
    "buckets": lambda web: web.rebucket("64"),  # type: ignore[arg-type]
    "to": lambda web: web.rollback("first"),  # type: ignore[arg-type]
    "keep": lambda web: web.gc(0),
    "hosts": lambda web: web.stats(hosts=-1),
    "snapshot": lambda web: web.stats(snapshot="1"),  # type: ignore[arg-type]
    "url": lambda web: web.lookup(3),  # type: ignore[arg-type]
    "count": lambda web: web.top(0),
    "min_score": lambda web: web.top(1, min_score="high"),  # type: ignore[arg-type]
    "name": lambda web: web.segment(20261115093000),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_a_wrong_type_is_named(web: crawl.Crawl, name: str) -> None:
    with pytest.raises(UsageError) as error:
        WRONG_TYPES[name](web)
    assert one_line(error).startswith(f"{name}: expected ")


NO_CRAWL: dict[str, Use] = {
    "fetch": lambda web: web.fetch(),
    "parse": lambda web: web.parse(),
    "updatedb": lambda web: web.updatedb(),
    "simulate": lambda web: web.simulate(),
    "segments": lambda web: web.segments(),
    "segment": lambda web: web.segment("20261115093000"),
    "snapshots": lambda web: web.snapshots(),
    "top": lambda web: web.top(3),
    "hosts_left_alone": lambda web: web.hosts_left_alone(),
    "phase_costs": lambda web: web.phase_costs(),
}


@pytest.mark.parametrize("method", NO_CRAWL)
def test_a_folder_that_is_no_crawl(tmp_path: Path, method: str) -> None:
    with pytest.raises(NoSnapshot, match="has no CrawlDb yet: start it with") as error:
        NO_CRAWL[method](crawl.open(tmp_path / "none", settings=SETTINGS))
    one_line(error)
    assert not (tmp_path / "none").exists()


def test_a_folder_that_is_not_there_is_not_whole(tmp_path: Path) -> None:
    for use in (crawl.Crawl.check, crawl.Crawl.repair):
        with pytest.raises(UsageError, match="no such crawl"):
            use(crawl.open(tmp_path / "none"))


ARGUMENTS: dict[str, tuple[object, ...]] = {
    "explain": (URL,),
    "export": ("out",),
    "lookup": (URL,),
    "top": (1,),
    "segment": ("20261115093000",),
    "rebucket": (32,),
    "refresh": ("a.test",),
    "dataframe": (None,),
    "dump_hostgraph": ("hosts",),
    "dump_hosts": ("hosts",),
    "dump_linkdb": ("links",),
    "dump_crawldb": ("urls",),
    "start": ("stats",),
    "host": ("a.test",),
    "inlinks": (URL,),
    "mergelinkdb": (["other"],),
    "nodedumper": ("nodes",),
    "nodereader": (URL,),
    "search": ("words",),
}


@pytest.mark.parametrize("method", sorted(public_methods().keys() - {"close"}))
def test_a_closed_handle_refuses_every_method(web: crawl.Crawl, method: str) -> None:
    web.close()
    with pytest.raises(UsageError, match="closed>: open it again with crawl.open") as error:
        getattr(web, method)(*ARGUMENTS.get(method, ()))
    one_line(error)


def refused(folder: Folder, use: Callable[[], object]) -> None:
    with hold_lock(folder, "gc", SystemClock(), stale_after_ms=1e9, heartbeat_s=60):
        with pytest.raises(Locked, match="is locked: gc by ") as error:
            use()
        one_line(error)
        assert folder.exists(LOCK_NAME), "it is looked at, and not taken"


def test_two_writers_of_a_crawldb(web: crawl.Crawl) -> None:
    crawldb = CrawlDir(web.address).crawldb.folder
    refused(crawldb, lambda: web.inject([URL]))
    refused(crawldb, web.sitemap)
    refused(crawldb, web.generate)
    refused(crawldb, web.run)
    refused(crawldb, lambda: web.run(urls=[URL]))
    refused(crawldb, lambda: web.rebucket(8))
    refused(crawldb, web.rollback)
    refused(crawldb, web.gc)
    assert not [path for path in Path(web.address).iterdir() if "seeds" in path.name]


def test_two_writers_of_a_segment(tmp_path: Path) -> None:
    directory, name = listed(str(tmp_path / "c"), [URL])
    web = crawl.open(directory.address, settings=SETTINGS)
    refused(directory.segments.segment(name).folder, web.fetch)
    fetched = fetched_segment(CrawlDir(str(tmp_path / "d")), [[content(URL, "text")]])
    web = crawl.open(tmp_path / "d", settings=SETTINGS)
    refused(fetched.folder, lambda: web.parse(fetched.name))


def test_two_that_ask_hosts(tmp_path: Path) -> None:
    directory, _ = listed(str(tmp_path / "c"), [URL])
    web = crawl.open(directory.address, settings=SETTINGS)
    refused(directory.fetching_folder, web.fetch)
    refused(directory.fetching_folder, web.run)
    refused(directory.fetching_folder, lambda: web.sitemap([URL]))


_ENDS_WITHOUT_CLOSE = """
from contextlib import contextmanager

from crawl.config import Config
from crawl.api.handle import Handle
from crawl.storage.crawl_dir import CrawlDir


class Options:
    quiet = True

    @contextmanager
    def session(self, name, config):
        try:
            yield object()
        finally:
            import wave  # as Spark imports something when it is stopped
            print("stopped")


handle = Handle(CrawlDir("nowhere"), Config.of({}), Options())
handle._engine.open_session()
"""


def test_a_program_that_ends_without_close_stops_spark_in_peace(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _ENDS_WITHOUT_CLOSE], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("stopped\n", "", 0)
