"""Rounds that overlap come to the same as rounds one after the other, and are as polite."""

from __future__ import annotations

import _thread
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import StorageError
from crawl.model.datum import CrawlDatum
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.rules import RoundCosts
from crawl.phases.generate import run as generate
from crawl.phases.parse import run as parse
from crawl.phases.updatedb import run as updatedb
from crawl.rounds.overlap import can_overlap, fetch_parts
from crawl.rounds.results import LoopResult
from crawl.rounds.state import segment_states
from crawl.rounds.steps import (
    STOP_FILE,
    UNBOUNDED,
    LoopOptions,
    Stage,
    StopReason,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import (
    LogEntry,
    RobotsKind,
    Settings,
    Web,
    WebServer,
    before_robots,
    concurrency,
    duplicates,
    gaps,
    running,
)
from tests.phases.made import records_of, urls_of
from tests.phases.round_loops import Diary, run_rounds
from tests.phases.webs import web_config

pytestmark = pytest.mark.exhaustive

DELAY = 0.1
_BESIDE = "beside-fetch"
_PATIENCE_S = 60.0


def eventually(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def test_where_rounds_may_overlap() -> None:
    any_number = LoopOptions(UNBOUNDED)
    assert can_overlap(Config.of({}), any_number)
    assert not can_overlap(Config.of({}), LoopOptions(3)), "a number says how deep a crawl goes"
    assert not can_overlap(Config.of({"http.redirect.max": 1}), any_number)
    follows = {"fetcher.parse": True, "fetcher.follow.outlinks.depth": 1}
    assert not can_overlap(Config.of(follows), any_number)


@pytest.mark.parametrize(("cores", "parts"), [(2, 1), (3, 2), (4, 3), (8, 6), (100, 75)])
def test_some_cores_are_left_for_the_rest(cores: int, parts: int) -> None:
    assert fetch_parts(cores) == parts


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with running(Web(Settings.plain(5, 100, port=0, size=500, fanout=4))) as server:
        yield server


class Crawl:
    """A crawl of the web from its seeds."""

    def __init__(self, folder: Path, server: WebServer, **settings: object) -> None:
        self.server = server
        folder.mkdir()
        self.seeds = folder / "seeds.txt"
        self.seeds.write_text("\n".join(server.web.seeds()))
        self.directory = CrawlDir(str(folder / "crawl"))
        self.config = web_config(
            server.web,
            fetcher__server__delay=DELAY,
            fetcher__progress__interval=0.1,
            crawldb__buckets=2,
            **settings,
        )
        self._seen = len(server.requests())

    def run(
        self,
        *,
        overlap: bool = True,
        diary: Diary | None = None,
        cancel: Callable[[], None] = lambda: None,
    ) -> LoopResult:
        return run_rounds(
            self.directory,
            self.config,
            SystemClock(),
            LoopOptions(UNBOUNDED),
            seeds=(str(self.seeds),),
            diary=diary,
            overlap=overlap,
            cancel=cancel,
        )

    @property
    def outcome(self) -> dict[str, CrawlDatum]:
        """The records without times and without scores, which hang on the order of updates."""
        return {
            url: replace(record, fetch_time=0, modified_time=0, score=0.0, metadata={})
            for url, record in records_of(self.directory).items()
        }

    @property
    def requests(self) -> list[LogEntry]:
        """Those of this crawl, as the server logged them."""
        return self.server.requests()[self._seen :]

    def assert_polite_and_once(self) -> None:
        """Every page, and every robots.txt: what one round learns of it the next ones know."""
        log = self.requests
        assert before_robots(log) == []
        assert max(concurrency(log).values()) == 1
        assert [gap for gap in gaps(log) if gap.seconds < DELAY] == []
        assert duplicates(log, robots_too=True) == {}
        assert {entry.host for entry in log if entry.path == "/robots.txt"} == set(
            self.server.web.hosts()
        )
        names = [segment.name for segment in self.directory.segments.generated()]
        assert set(Counter(urls_of(self.directory, names)).values()) == {1}, "on one list each"


@pytest.fixture
def small_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there is work for a list ahead."""
    monkeypatch.setattr("crawl.rounds.loop.last_round_costs", lambda *_: RoundCosts(0.2, 1.0))


class Timeline:
    """How many steps ran beside a fetch; there is never a second fetch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at_once = 0
        self.fetching = 0
        self._lock = threading.Lock()
        for phase in (fetch, parse, updatedb, generate):
            monkeypatch.setattr(phase, "run", self._watched(phase.run, phase is fetch))

    def _watched(self, run: Any, is_fetch: bool) -> Any:
        def watched(*arguments: Any, **more: Any) -> Any:
            with self._lock:
                # by the thread that is there for as long as a fetch is: which of the two begins
                # its step first hangs on the machine
                self.at_once += threading.current_thread().name == _BESIDE
                self.fetching += is_fetch
                assert self.fetching <= 1
            try:
                return run(*arguments, **more)
            finally:
                with self._lock:
                    self.fetching -= is_fetch

        return watched


@pytest.mark.slow(seconds=90)
@pytest.mark.parametrize("tail", ["never", "rounds"])
def test_it_comes_to_the_same(
    tmp_path: Path,
    server: WebServer,
    small_lists: None,
    monkeypatch: pytest.MonkeyPatch,
    tail: str,
) -> None:
    plain = Crawl(tmp_path / "plain", server, fetcher__tail__cut=tail)
    assert plain.run(overlap=False).ending is StopReason.NOTHING_DUE
    plain.assert_polite_and_once()
    timeline = Timeline(monkeypatch)
    crawl, diary = Crawl(tmp_path / "overlapped", server, fetcher__tail__cut=tail), Diary()
    result = crawl.run(diary=diary)
    assert result.ending is StopReason.NOTHING_DUE
    crawl.assert_polite_and_once()
    assert timeline.at_once >= 3, "steps ran beside fetches"
    assert crawl.outcome == plain.outcome
    assert len(crawl.outcome) == 100
    assert {state.stage for state in segment_states(crawl.directory)} == {Stage.UPDATED}
    assert result.rounds == tuple(diary.rounds)
    assert [each.number for each in result.rounds] == list(range(1, len(result.rounds) + 1))
    assert sum(each.records for each in result.rounds) == 100
    for each in result.rounds:
        assert {"fetch", "parse", "updatedb"} <= each.seconds.keys()


@pytest.mark.slow(seconds=30)
def test_many_rounds_ask_once_for_robots_txt_and_keep_every_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every list has one page of a host, so that every pause is one between two fetches, of which
    the later begins when the earlier ends; the smallest host asks for far longer ones."""
    delay = 2.5
    kinds = (RobotsKind.OPEN, RobotsKind.OPEN, RobotsKind.DELAY)
    shape = Settings.plain(
        3, 20, skew=1.2, size=400, fanout=4, robots=kinds, crawl_delay=delay, addresses=3, port=0
    )
    with running(Web(shape)) as server:
        sizes = dict(zip(server.web.hosts(), server.web.plan.sizes, strict=True))
        crawl = Crawl(tmp_path / "c", server, generate__max__count=1)
        timeline = Timeline(monkeypatch)
        result = crawl.run()
        assert result.ending is StopReason.NOTHING_DUE
        crawl.assert_polite_and_once()
        log = crawl.requests
        (slow,) = [host for host in sizes if server.web.robots(host) is RobotsKind.DELAY]
    assert len(result.rounds) >= max(sizes.values()) >= 10
    assert timeline.at_once >= 10
    assert len(crawl.outcome) == sum(sizes.values())
    pauses = gaps([entry for entry in log if entry.host == slow])
    assert len(pauses) == sizes[slow] >= 3
    assert [pause for pause in pauses if pause.seconds < delay] == []


class _Dies(Exception):
    pass


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("phase", ["generate", "fetch", "parse", "updatedb"])
def test_a_death_in_either_lane_is_gone_on_from(
    tmp_path: Path,
    server: WebServer,
    small_lists: None,
    monkeypatch: pytest.MonkeyPatch,
    phase: str,
) -> None:
    """Whether the crawl goes on in two lanes or in one."""
    crawl = Crawl(tmp_path / "c", server)
    run, calls = _module(phase).run, 0

    def dies(*arguments: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise _Dies
        return run(*arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(_module(phase), "run", dies)
        with pytest.raises(_Dies):
            crawl.run()
    assert not crawl.directory.fetching_folder.exists("LOCK")
    assert not crawl.directory.crawldb.folder.exists("LOCK")
    overlap = phase in ("fetch", "updatedb")
    assert crawl.run(overlap=overlap).ending is StopReason.NOTHING_DUE
    crawl.assert_polite_and_once()
    assert len(crawl.outcome) == 100


def _module(phase: str) -> Any:
    return {"generate": generate, "fetch": fetch, "parse": parse, "updatedb": updatedb}[phase]


@pytest.mark.slow(seconds=30)
def test_a_fault_beside_a_fetch_ends_it_in_good_order(
    tmp_path: Path, server: WebServer, small_lists: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both wait for each other, so that it is beside a fetch however slow the machine is."""
    crawl = Crawl(tmp_path / "c", server)
    run, fetching = updatedb.run, fetch.run
    is_updating = threading.Event()

    def fetched(*arguments: Any) -> Any:
        eventually(lambda: is_updating.is_set() or not at_work_beside())
        return fetching(*arguments)

    def full(*arguments: Any) -> Any:
        if threading.current_thread().name != _BESIDE:
            return run(*arguments)
        asked = len(server.requests())
        is_updating.set()
        eventually(lambda: len(server.requests()) > asked)
        raise StorageError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(fetch, "run", fetched)
        patched.setattr(updatedb, "run", full)
        with pytest.raises(StorageError, match="^the disk is full$"):
            crawl.run()
    assert crawl.run().ending is StopReason.NOTHING_DUE
    crawl.assert_polite_and_once()
    assert len(crawl.outcome) == 100


def at_work_beside() -> list[threading.Thread]:
    """Threads that are at work beside a fetch, but for one that is just ending."""
    found = [thread for thread in threading.enumerate() if thread.name == _BESIDE]
    for thread in found:
        thread.join(1)
    return [thread for thread in found if thread.is_alive()]


@pytest.mark.slow(seconds=30)
def test_a_stop_file_ends_both_lanes(
    tmp_path: Path, server: WebServer, small_lists: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl, diary = Crawl(tmp_path / "c", server), Diary()
    run, calls = fetch.run, 0

    def stopped(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            crawl.directory.folder.write(STOP_FILE, b"")
        return run(*arguments)

    monkeypatch.setattr(fetch, "run", stopped)
    assert crawl.run(diary=diary).ending is StopReason.STOP_FILE
    assert calls == 2
    assert not at_work_beside()
    crawl.directory.folder.delete(STOP_FILE)
    assert crawl.run().ending is StopReason.NOTHING_DUE
    crawl.assert_polite_and_once()


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("is_fetched", [False, True], ids=["in the fetch", "after it"])
def test_an_interruption_cancels_what_is_done_beside_the_fetch(
    tmp_path: Path,
    server: WebServer,
    small_lists: None,
    monkeypatch: pytest.MonkeyPatch,
    is_fetched: bool,
) -> None:
    crawl = Crawl(tmp_path / "c", server)
    run_fetch, run_parse = fetch.run, parse.run
    parsing, fetched, cancelled = threading.Event(), threading.Event(), threading.Event()
    main = threading.current_thread()

    def slow_parse(*arguments: Any) -> Any:
        if threading.current_thread() is not main:
            parsing.set()
            if is_fetched:
                assert fetched.wait(_PATIENCE_S)
                time.sleep(1)  # the main thread waits for this one by now
                _thread.interrupt_main()
            assert cancelled.wait(_PATIENCE_S)
            raise StorageError("cancelled")
        return run_parse(*arguments)

    def interrupted(*arguments: Any) -> Any:
        # beside the first fetch there is nothing to parse
        is_beside = any(state.stage is Stage.FETCHED for state in segment_states(crawl.directory))
        done = run_fetch(*arguments)
        if is_beside:
            assert parsing.wait(_PATIENCE_S)
            fetched.set()
            if not is_fetched:
                raise KeyboardInterrupt
        return done

    with monkeypatch.context() as patched:
        patched.setattr(parse, "run", slow_parse)
        patched.setattr(fetch, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            crawl.run(cancel=cancelled.set)
    assert not at_work_beside()
    assert crawl.run(overlap=False).ending is StopReason.NOTHING_DUE
    crawl.assert_polite_and_once()
