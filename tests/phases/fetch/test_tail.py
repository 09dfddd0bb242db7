"""A fetch that has become a tail is ended, and nothing is lost by it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.fetcher.reporting.part_reports import PartReports
from crawl.fetcher.reporting.task_monitor import PROGRESS, STOP
from crawl.model.report import Report
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch import tail
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.rules import RoundCosts
from crawl.phases.fetch.run import FetchResult
from crawl.phases.fetch.tail import TailCutter, is_tail_cut, last_round_costs
from crawl.rounds.steps import UNBOUNDED, LoopOptions, StopReason
from crawl.storage.chunks import ChunkLog
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.segments import FETCH, GENERATE, PARSE, PartFile, Segment
from crawl.synthetic.web import Settings, Web, WebServer, duplicates, gaps, running
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import datum, make_crawldb, records_of
from tests.phases.round_loops import run_rounds
from tests.phases.test_rounds_kill import timeless
from tests.phases.webs import fetched, listed, web_config

pytestmark = pytest.mark.exhaustive

DELAY = 0.1
COSTS = RoundCosts(overhead_s=1.0, found_per_page=5.0)
PARTS = [PartFile(0, "part-0", 100, 1), PartFile(1, "part-1", 50, 1)]


@pytest.mark.parametrize(
    ("cut", "more_rounds", "expected"),
    [
        ("rounds", True, True),
        ("rounds", False, False),
        ("always", False, True),
        ("never", True, False),
    ],
)
def test_which_fetches_are_ended(cut: str, more_rounds: bool, expected: bool) -> None:
    config = Config.of({"fetcher.tail.cut": cut})
    assert is_tail_cut(config, more_rounds=more_rounds) is expected


class Watched:
    """Two parts that tell what the test says."""

    def __init__(self, folder: Path) -> None:
        self.segment = Folder(str(folder))
        self.clock = ManualClock(0)
        config = Config.of({"fetcher.progress.interval": 3600})
        self.cutter = TailCutter(self.segment, COSTS, config, self.clock)

    def tell(self, part: int, busy: int, **more: Any) -> None:
        report = {
            "run": f"run-{part}",
            "told_ms": 0,
            "servers_busy": busy,
            "longest_chain_s": 30.0,
            "counters": {"records": 100},
            **more,
        }
        name = f"{PROGRESS}/part-{part:05d}.json"
        self.segment.write(name, json.dumps(report).encode())

    def look(self) -> bool:
        """Whether the parts were asked to end."""
        self.cutter._look(self._watch)
        return self.segment.exists(STOP)

    def begin(self) -> None:
        reports = PartReports(self.segment, PARTS)
        self._watch = tail._Watch(reports, len(PARTS), self.clock)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "segment")


def test_the_parts_together_are_judged(watched: Watched) -> None:
    watched.begin()
    watched.tell(0, 2)
    watched.tell(1, 38)
    assert not watched.look()
    watched.clock.advance(10)
    assert not watched.look()
    watched.tell(0, 0, ended=True)
    watched.clock.advance(1)
    assert not watched.look(), "most servers are in the other part"
    watched.tell(1, 2)
    watched.clock.advance(1)
    assert watched.look()
    assert watched.segment.read(STOP) == b"tail"
    assert watched.cutter.cut is not None
    assert watched.cutter.cut["servers_busy"] == 2


def test_a_part_that_is_still_to_come_has_servers_too(watched: Watched) -> None:
    watched.tell(1, 20)  # of an earlier fetch
    watched.begin()
    watched.tell(0, 20)
    watched.look()
    watched.clock.advance(10)
    watched.tell(0, 1)
    assert not watched.look()
    watched.tell(1, 1, run="another")
    assert watched.look()


def test_whoever_is_interrupted_stays_so(watched: Watched) -> None:
    watched.segment.write(STOP, b"")
    with watched.cutter.watching(PARTS):
        pass
    assert watched.segment.read(STOP) == b""


@pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"told_ms": 1, "servers_busy": "many"}'])
def test_a_torn_report_harms_nobody(watched: Watched, torn: bytes) -> None:
    watched.begin()
    watched.segment.write(f"{PROGRESS}/part-00000.json", torn)
    watched.tell(1, 1)
    watched.clock.advance(100)
    assert not watched.look()


def test_what_a_round_costs_is_told_by_the_last_one(tmp_path: Path) -> None:
    directory, name = listed(str(tmp_path / "c"), ["http://a.test/"])
    segment = directory.segments.segment(name)
    config = Config.of({})

    def report(phase: str, seconds: float, counters: dict[str, int]) -> Report:
        told = Report(phase, 1000, "", durations_s={"a": 0.5})
        told.finished_ms = 1000 + round(seconds * 1000)
        told.counters.update(counters)
        return told

    segment.write_report(GENERATE, report("generate", 2.0, {"below_top_n": 7}))
    first = last_round_costs(directory, segment, config)
    assert first == RoundCosts(12.0, 1.0, 7), "the usual, before there was one"
    clock = SystemClock()
    with directory.writing_crawldb("updatedb", config, clock) as transaction:
        base = transaction.base
        assert base is not None
        counters = {"fetch_records": 10, "urls_new": 25}
        transaction.publish(
            base.files,
            report("updatedb", 3.0, counters),
            buckets=base.buckets,
            keep=2,
            applying=("20200101000000",),
        )
    before = directory.segments.segment("20200101000000")
    before.write_report(PARSE, report("parse", 4.0, {}))
    assert last_round_costs(directory, segment, config) == RoundCosts(9.0, 2.5, 7)
    before.write_report(PARSE, report("fetch", 400.0, {}))
    assert last_round_costs(directory, segment, config).overhead_s == 5.0


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with running(Web(Settings.plain(6, 120, port=0, size=500))) as server:
        yield server


@pytest.fixture
def unequal_web() -> Iterator[WebServer]:
    web = Web(Settings.plain(8, 240, port=0, size=500, skew=0.5, fanout=4))
    with running(web) as server:
        yield server


@pytest.fixture
def cheap_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that tails of seconds are worth a round."""
    monkeypatch.setattr(fetch, "last_round_costs", lambda *_: COSTS)


def config_of(server: WebServer, delay_s: float = DELAY, **settings: object) -> Config:
    return web_config(
        server.web,
        fetcher__server__delay=delay_s,
        fetcher__progress__interval=0.1,
        crawldb__buckets=2,
        **settings,
    )


def run(directory: CrawlDir, config: Config, *, more_rounds: bool = True) -> FetchResult:
    options = FetchOptions(more_rounds=more_rounds)
    return fetch.run(InProcess(2), directory, config, options, SystemClock())


def unequal(server: WebServer) -> list[str]:
    """Hosts of two or three seconds, and one of eight."""
    pages = sorted(server.web.urls())
    return pages + [f"{pages[0].rsplit('/', 1)[0]}/more{number}" for number in range(60)]


@pytest.mark.slow(seconds=20)
def test_a_tail_is_handed_back_and_the_fetch_is_complete(
    tmp_path: Path, server: WebServer, cheap_rounds: None
) -> None:
    urls = unequal(server)
    directory, name = listed(str(tmp_path / "c"), urls)
    done = run(directory, config_of(server))
    counted = done.report.counters
    assert done.complete
    assert counted["handed_back.tail"] > 0
    assert counted["records"] + counted["handed_back.tail"] == len(urls)
    assert done.report.details["tail"]["servers_busy"] < 6
    segment = directory.segments.segment(name)
    assert segment.require(FETCH).complete
    assert not segment.folder.exists(STOP)
    assert len(fetched(directory, name)) == counted["records"]


@pytest.mark.slow(seconds=20)
def test_the_last_round_is_fetched_to_its_end(
    tmp_path: Path, server: WebServer, cheap_rounds: None
) -> None:
    urls = unequal(server)
    directory, _ = listed(str(tmp_path / "c"), urls)
    done = run(directory, config_of(server), more_rounds=False)
    assert done.report.counters["records"] == len(urls)
    assert "tail" not in done.report.details


class _Dies(BaseException):
    pass


@pytest.mark.slow(seconds=25)
def test_a_death_in_the_ending_is_gone_on_from(
    tmp_path: Path, server: WebServer, cheap_rounds: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = unequal(server)
    directory, name = listed(str(tmp_path / "c"), urls)
    seen = len(server.requests())

    def dies(log: ChunkLog, told: dict[str, Any]) -> None:
        if told["counters"].get("handed_back.tail"):
            raise _Dies
        finish(log, told)

    finish = ChunkLog.finish
    with monkeypatch.context() as patched:
        patched.setattr(ChunkLog, "finish", dies)
        with pytest.raises(_Dies):
            run(directory, config_of(server))
    segment = directory.segments.segment(name)
    assert segment.manifest(FETCH) is None
    done = run(directory, config_of(server, fetcher__tail__cut="never"))
    assert done.complete
    assert done.report.counters["records"] == len(urls)
    assert Counter(url for url, _ in fetched(directory, name)) == Counter(urls)
    log = [entry for entry in server.requests()[seen:] if "robots" not in entry.path]
    assert duplicates(log) == {}


@pytest.mark.slow(seconds=60)
def test_a_crawl_with_tails_cut_comes_to_the_same(
    tmp_path: Path, unequal_web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page once, none too soon, and the CrawlDb knows of no tail."""
    monkeypatch.setattr(fetch, "last_round_costs", lambda *_: RoundCosts(0.6, 5.0))
    server = unequal_web
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n".join(server.web.seeds()))
    records = {}
    for cut in ("never", "rounds"):
        directory = CrawlDir(str(tmp_path / cut))
        seen = len(server.requests())
        result = run_rounds(
            directory,
            config_of(server, 0.2, fetcher__tail__cut=cut),
            SystemClock(),
            LoopOptions(UNBOUNDED),
            seeds=(str(seeds),),
        )
        assert result.ending is StopReason.NOTHING_DUE
        records[cut] = timeless(records_of(directory))
        log = server.requests()[seen:]
        assert duplicates([entry for entry in log if "robots" not in entry.path]) == {}
        assert gaps(log)[0].seconds >= 0.2
        cuts = [each for each in directory.segments.generated() if _tail(each)]
        assert bool(cuts) is (cut == "rounds")
    assert len(records["never"]) == 240
    assert records["rounds"].keys() == records["never"].keys()
    for url, record in records["rounds"].items():
        assert record.status is records["never"][url].status
        assert record.retries == 0


def _tail(segment: Segment) -> int:
    counters: dict[str, int] = segment.report(FETCH)["counters"]
    return counters.get("handed_back.tail", 0)


@pytest.mark.slow
def test_what_is_handed_back_is_due_at_once(
    tmp_path: Path, server: WebServer, cheap_rounds: None
) -> None:
    urls = unequal(server)
    records = {url: datum(fetch_time=1000) for url in urls}
    directory = make_crawldb(str(tmp_path / "c"), records, buckets=2)
    config = config_of(server, generate__update__crawldb=True)
    first = run_rounds(directory, config, SystemClock(), LoopOptions(2))
    assert first.rounds[0].left_for_later > 0
    assert sum(each.records for each in first.rounds) == len(urls)
