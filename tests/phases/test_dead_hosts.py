"""Hosts that answer nothing cost a round one URL each, and ever more seldom; in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event

import pytest

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.model.hosts import UNANSWERED, HostState
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.run import GenerateResult
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.readers.explain.selection import rejection_of
from crawl.readers.explain.url import explain
from crawl.rounds.steps import UNBOUNDED, LoopOptions, StopReason
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.hosts import SlowHosts, read_hosts, waiting_hosts
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import DAY, NOW, datum, make_crawldb, make_segment, records_of, urls_of
from tests.phases.round_loops import Diary, SetClock, run_rounds
from tests.phases.scripted_web import PLAYED, Scene, Script, ScriptedProtocol
from tests.phases.troubled import MINUTE, trouble, update, write_troubles

DEAD = [f"http://dead{n % 3}.org/{n}" for n in range(30)]
LIVE = [f"http://live{n}.org/" for n in range(4)]


def generated(directory: CrawlDir, now_ms: int, **settings: object) -> GenerateResult:
    config = Config.of(
        {"urlfilter.order": [], **{k.replace("__", "."): v for k, v in settings.items()}}
    )
    options, clock = GenerateOptions(top_n=10), ManualClock(now_ms)
    return generate.run(InProcess(), directory, config, options, clock, resolver=lambda host: None)


def states(directory: CrawlDir) -> dict[str, HostState]:
    snapshot = directory.require_crawldb()
    return {
        host: state
        for file in snapshot.hosts
        for host, state in read_hosts(directory.crawldb.folder, file).items()
    }


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    records = {url: datum(score=10.0) for url in DEAD} | {url: datum() for url in LIVE}
    return make_crawldb(str(tmp_path / "c"), records)


@pytest.fixture
def troubled(directory: CrawlDir) -> CrawlDir:
    write_troubles(directory, "20270101000000", [trouble(f"dead{n}.org") for n in range(3)])
    assert update(directory)["hosts_put_off"] == 3
    return directory


def test_their_urls_are_left_out_and_the_list_is_filled_with_others(troubled: CrawlDir) -> None:
    done = generated(troubled, NOW + MINUTE)
    assert sorted(urls_of(troubled, done.segments)) == LIVE
    counters = done.report.counters
    assert (counters["host_waits"], counters["hosts_waiting"]) == (len(DEAD), 3)
    assert done.next_host_ms == NOW + 5 * MINUTE


def test_when_the_wait_is_over_one_url_each_is_tried(troubled: CrawlDir) -> None:
    done = generated(troubled, NOW + 5 * MINUTE)
    listed = urls_of(troubled, done.segments)
    assert len([url for url in listed if "dead" in url]) == 3
    assert {url for url in listed if "live" in url} == set(LIVE)
    assert done.report.counters["host_probed"] == len(DEAD) - 3


def test_nothing_is_left_out_where_that_is_asked_for(troubled: CrawlDir) -> None:
    done = generated(troubled, NOW + MINUTE, db__host__wait__max=0)
    assert all("dead" in url for url in urls_of(troubled, done.segments))


def test_a_second_round_in_vain_doubles_the_wait_and_an_answer_ends_it(troubled: CrawlDir) -> None:
    write_troubles(
        troubled,
        "20270102000000",
        [trouble("dead0.org", NOW + DAY), trouble("dead1.org", NOW + DAY)],
        ["http://dead1.org/1", "http://dead2.org/2"],
    )
    counters = update(troubled)
    found = states(troubled)
    assert set(found) == {"dead0.org", "dead1.org"}
    assert (found["dead0.org"].failures, found["dead0.org"].wait_until) == (
        2,
        NOW + DAY + 10 * MINUTE,
    )
    assert (found["dead1.org"].failures, found["dead1.org"].wait_until) == (
        0,
        NOW + DAY + 5 * MINUTE,
    )
    assert counters["hosts_answer_again"] == 1


def test_several_segments_at_once_are_the_same_as_one_after_the_other(tmp_path: Path) -> None:
    found = []
    for together in (True, False):
        directory = make_crawldb(str(tmp_path / str(together)), {url: datum() for url in DEAD})
        names = [f"2027010{day}000000" for day in (1, 2, 3)]
        for day, name in enumerate(names):
            hosts = ["dead0.org", "dead1.org"] if day != 1 else ["dead0.org"]
            write_troubles(
                directory,
                name,
                [trouble(host, NOW + day * DAY) for host in hosts],
                DEAD[1:2] * (day == 1),
            )
        for batch in [names] if together else [[name] for name in names]:
            update(directory, *batch)
        found.append(states(directory))
    assert found[0] == found[1]
    assert found[0]["dead0.org"].failures == 3


def test_a_rollback_forgets_and_a_rebucket_does_not(troubled: CrawlDir) -> None:
    known = states(troubled)
    assert len(known) == 3
    rebucket.run(InProcess(), troubled, Config(), RebucketOptions(12), ManualClock(NOW))
    assert states(troubled) == known
    snapshot = troubled.require_crawldb()
    assert {file.bucket for file in snapshot.hosts} <= set(range(12))
    done = generated(troubled, NOW + MINUTE)
    assert sorted(urls_of(troubled, done.segments)) == LIVE
    with troubled.writing_crawldb("rollback", Config(), ManualClock(NOW)) as transaction:
        transaction.roll_back(1)
    assert states(troubled) == {}


def test_other_writers_keep_the_hosts_and_no_file_is_swept(troubled: CrawlDir) -> None:
    known = states(troubled)
    generated(troubled, NOW + MINUTE, generate__update__crawldb=True)
    assert troubled.require_crawldb().phase == "generate"
    assert states(troubled) == known


def test_explain_says_why_and_until_when(troubled: CrawlDir) -> None:
    config = Config.of({"urlfilter.order": []})
    found = explain(troubled, DEAD[0], config, NOW + MINUTE)
    rejection = rejection_of(found.generating)
    assert rejection is not None
    assert rejection.reason == "host_waits"
    assert "gave no page in 1 round (robots_deferred" in found.prospect
    assert "until 2027-01-15 08:05:00 UTC" in found.prospect
    later = explain(troubled, DEAD[0], config, NOW + 6 * MINUTE)
    probed = next(step for step in later.generating if step.reason == "host_probed")
    assert "one URL is tried first; this is number" in probed.detail
    live = explain(troubled, LIVE[0], config, NOW + MINUTE)
    assert live.prospect == "may be selected by the next generate"


def test_those_that_wait_are_found_in_order(troubled: CrawlDir) -> None:
    folder, snapshot = troubled.crawldb.folder, troubled.require_crawldb()
    assert len(waiting_hosts(folder, snapshot, NOW + MINUTE, DAY)) == 3
    assert not waiting_hosts(folder, snapshot, NOW + 5 * MINUTE, DAY)
    assert not waiting_hosts(folder, snapshot, NOW + MINUTE, 0)


# endless spaces


def same_page(directory: CrawlDir, name: str, urls: Sequence[str], signature: bytes) -> Counters:
    """A segment in which new URLs gave one and the same page."""
    fetched = datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)
    signed = datum(status=Status.SIGNATURE, fetch_time=NOW, signature=signature)
    make_segment(directory, name, [(u, fetched) for u in urls], [(u, signed) for u in urls])
    return update(directory, name)


def test_new_urls_of_a_host_whose_pages_are_all_the_same_have_to_wait(tmp_path: Path) -> None:
    facets = [f"http://shop.org/?f={n}" for n in range(120)]
    known = {"http://shop.org/": datum(status=Status.DB_FETCHED, signature=b"front")}
    records = {url: datum(score=9.0) for url in facets} | known | {LIVE[0]: datum()}
    directory = make_crawldb(str(tmp_path / "c"), records)
    counters = same_page(directory, "20270101000000", facets[:60], b"nothing found")
    assert counters["hosts_slowed"] == 1
    done = generated(directory, NOW + MINUTE)
    assert sorted(urls_of(directory, done.segments)) == [LIVE[0], "http://shop.org/"]
    assert done.report.counters["trap.same_signature"] == 60
    assert done.next_host_ms == NOW + 60 * MINUTE
    config = Config.of({"urlfilter.order": []})
    why = rejection_of(explain(directory, facets[99], config, NOW + MINUTE).generating)
    assert why is not None
    assert why.reason == "trap.same_signature"
    assert "60 of the host's last 60 new pages are the same page" in why.detail
    (slowed,) = waiting_hosts(directory.crawldb.folder, directory.require_crawldb(), NOW, DAY)
    assert (slowed.host, slowed.slowed, slowed.failures) == ("shop.org", 1, 0)
    directory.segments.folder.delete(done.segments[0])
    later = generated(directory, NOW + 61 * MINUTE, generate__max__count=40)
    assert later.report.counters["trap.same_signature"] == 50
    off = generated(directory, NOW + MINUTE, db__host__wait__max=0)
    assert off.report.counters["trap.same_signature"] == 0


def test_pages_that_are_fetched_again_are_no_news(tmp_path: Path) -> None:
    """A whole host may be redesigned into one notice: its pages are known, and fetched on."""
    urls = [f"http://x.org/{n}" for n in range(60)]
    old = datum(status=Status.DB_FETCHED, signature=b"old")
    directory = make_crawldb(str(tmp_path / "c"), dict.fromkeys(urls, old))
    again = datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)
    signed = datum(status=Status.SIGNATURE, fetch_time=NOW, signature=b"we are closed")
    name = "20270101000000"
    make_segment(directory, name, [(u, again) for u in urls], [(u, signed) for u in urls])
    assert not update(directory, name)["hosts_slowed"]
    assert states(directory) == {}


# whole rounds


class HalfDeadWeb(ScriptedProtocol):
    """Hosts by their names: refuse, hang, have a robots.txt that fails, or are as scripted."""

    def fetch(self, request: Request) -> Response | Failure:  # type: ignore[override]
        if "//refuses" in request.url:
            return Failure(request.url, FailureKind.CONNECT_REFUSED, sent=1.0)
        if "//hangs" in request.url:
            return Failure(request.url, FailureKind.FIRST_BYTE_TIMEOUT, sent=1.0)
        if "//busy" in request.url and request.url.endswith("/robots.txt"):
            return Response(request.url, 503, (), b"")
        return super().fetch(request)


def half_dead(folder: Path, clock: Clock, **settings: object) -> Config:
    pages = {
        f"http://live{n}.test/{m}": Scene(
            text=f"{n} {m}",
            links=tuple(f"http://live{n}.test/{below}" for below in (2 * m + 1, 2 * m + 2)),
        )
        for n in range(3)
        for m in range(15)
    }
    script = {url: (lambda now, scene=scene: scene) for url, scene in pages.items()}
    PLAYED[str(folder)] = Script(script, clock.now_ms)  # type: ignore[arg-type]
    return Config.of(
        {
            "http.agent.name": "testbot",
            "plugin.protocol": ["tests.phases.test_dead_hosts:HalfDeadWeb"],
            "test.script": str(folder),
            "fetcher.server.delay": 0,
            "urlfilter.order": ["length"],
            "crawldb.buckets": 4,
            **{name.replace("__", "."): value for name, value in settings.items()},
        }
    )


def seeds(folder: Path, dead: int, urls_each: int = 3) -> str:
    """Dead hosts with high scores, three live ones."""
    kinds = ("refuses", "hangs", "busy")
    lines = [
        f"http://{kinds[n % 3]}{n}.test/{m}\tnutch.score=100"
        for n in range(dead)
        for m in range(urls_each)
    ]
    path = folder / "seeds.txt"
    path.write_text("\n".join([*lines, *(f"http://live{n}.test/0" for n in range(3))]))
    return str(path)


@pytest.mark.slow
def test_all_live_urls_are_fetched_and_the_crawl_ends(tmp_path: Path) -> None:
    clock = SetClock(NOW)
    config = half_dead(tmp_path, clock)
    directory, diary = CrawlDir(str(tmp_path / "crawl")), Diary()
    result = run_rounds(
        directory, config, clock, LoopOptions(UNBOUNDED),
        seeds=(seeds(tmp_path, 12),), top_n=10, diary=diary,
    )  # fmt: skip
    assert result.ending is StopReason.NOTHING_DUE
    found = records_of(directory)
    live = {url: record for url, record in found.items() if "live" in url}
    fetched = [url for url, record in live.items() if record.status is Status.DB_FETCHED]
    assert len(fetched) == 45
    assert result.hosts_waiting == 12
    asked = sum(bool(done.left_for_later) and not done.fetched for done in result.rounds)
    assert asked <= 12, "a host that answers nothing has at most one round of its own"


class SilentWeb(HalfDeadWeb):
    """A web whose hanging hosts answer nothing until the test is over."""

    over = Event()

    def fetch(self, request: Request) -> Response | Failure:  # type: ignore[override]
        if "//hangs" in request.url:
            self.over.wait()
        return super().fetch(request)


@pytest.mark.slow(seconds=20)
def test_hosts_that_say_nothing_are_put_off_and_the_crawl_ends(tmp_path: Path) -> None:
    clock = SetClock(NOW)
    SilentWeb.over.clear()  # the test is also run with small files
    web = {"plugin.protocol": ["tests.phases.test_dead_hosts:SilentWeb"]}
    config = half_dead(tmp_path, clock, fetcher__tail__silence=1.0).with_values(web)
    directory = CrawlDir(str(tmp_path / "crawl"))
    given = (seeds(tmp_path, 6),)
    try:
        result = run_rounds(directory, config, clock, LoopOptions(UNBOUNDED), seeds=given, top_n=10)
    finally:
        SilentWeb.over.set()
    assert result.ending is StopReason.NOTHING_DUE
    assert result.hosts_waiting == 6
    silent = {host: state for host, state in states(directory).items() if "hangs" in host}
    assert [state.reason for state in silent.values()] == [UNANSWERED] * 2
    assert {state.wait_until - state.last for state in silent.values()} == {5 * MINUTE}
    found = records_of(directory)
    assert all(found[url].status is Status.DB_UNFETCHED for url in found if "hangs" in url)
    assert sum(found[url].status is Status.DB_FETCHED for url in found) == 45
    snapshot = directory.require_crawldb()
    is_slow = SlowHosts(directory.crawldb.folder, snapshot)
    assert [is_slow(host) for host in ("hangs1.test", "refuses0.test", "live0.test")] == [
        True,
        False,
        False,
    ]


@pytest.mark.slow
def test_waiting_ends_with_the_first_host_that_may_be_asked(tmp_path: Path) -> None:
    clock = SetClock(NOW)
    pauses = {"http.robots.503.defer.visits.delay": 2000, "fetcher.tail.wait": 0}
    config = half_dead(tmp_path, clock).with_values(pauses)
    directory = CrawlDir(str(tmp_path / "crawl"))
    run_rounds(directory, config, clock, LoopOptions(UNBOUNDED), seeds=(seeds(tmp_path, 1),))
    clock.set(NOW + 1000)

    class Later(Diary):
        def on_wait(self, seconds: float) -> None:
            super().on_wait(seconds)
            clock.set(clock.now_ms() + round(seconds * 1000))

    later = Later()
    run_rounds(directory, config, clock, LoopOptions(2, wait_s=3600.0), diary=later)
    assert later.waited == [pytest.approx(1, abs=0.5)]
    assert later.names == ["generate", "generate", "fetch", "parse", "updatedb"]
    assert states(directory)["refuses0.test"].failures == 2
