"""What a fetch leaves to the next: robots.txt asked once, pauses kept from round to round and
from part to part, judged by the server's own log."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.fetcher.hand_over import KnownRobots
from crawl.model.report import Report
from crawl.model.table import Table
from crawl.model.tables import ROBOTS, SERVERS
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.hand_over import handed_over, publish_handed_over
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.tasks import HandOverTask
from crawl.phases.gc.run import collect_garbage
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.robots.stored import StoredAnswer
from crawl.rounds.steps import LoopOptions
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.keyed_rows import KeyedRows
from crawl.storage.manifest import Snapshot
from crawl.storage.repair import repair
from crawl.storage.robots_store import to_answers, write_answers
from crawl.storage.server_pauses import ServerPause, to_pauses, write_pauses
from crawl.synthetic.web import RobotsKind, Settings, Web, WebServer, concurrency, gaps, running
from crawl.synthetic.web.log import LogEntry
from crawl.tables.runner import InProcess
from tests.phases.killed import run_killed
from tests.phases.made import datum, make_crawldb
from tests.phases.round_loops import run_rounds
from tests.phases.webs import LONG_AGO, web_config

pytestmark = pytest.mark.exhaustive

BUCKETS = 3
SOON_MS = 3_600_000


def robots_asked(log: Iterable[LogEntry]) -> Counter[str]:
    return Counter(entry.host for entry in log if entry.path == "/robots.txt")


def crawl_rounds(
    folder: Path, server: WebServer, rounds: int, parts: int, **settings: object
) -> CrawlDir:
    seeds = folder / "seeds.txt"
    seeds.write_text("\n".join(server.web.seeds()))
    directory = CrawlDir(str(folder / "crawl"))
    config = web_config(server.web, **{"generate__update__crawldb": False, **settings})
    loop = LoopOptions(rounds=rounds)
    run_rounds(directory, config, SystemClock(), loop, seeds=(str(seeds),), parts=parts)
    return directory


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("keep", [24, 0])
def test_robots_txt_is_asked_once_a_host(tmp_path: Path, keep: int) -> None:
    kinds = (*(kind for kind in RobotsKind if kind not in (RobotsKind.DELAY,)),)
    shape = Settings(
        sites=14, pages=150, size=500, fanout=3, external=0.3, odd=0, robots=kinds, port=0
    )
    with running(Web(shape)) as server:
        directory = crawl_rounds(tmp_path, server, 5, 3, http__robots__keep=keep)
        asked = robots_asked(server.requests())
        failing = {RobotsKind.UNAVAILABLE, RobotsKind.THROTTLED}
        working = {host for host in asked if server.web.robots(host) not in failing}
    assert len(working) > 8
    if keep:
        assert {host: asked[host] for host in working} == dict.fromkeys(working, 1)
        assert check(directory, deep=True).faults == []
    else:
        assert max(asked[host] for host in working) > 3
        assert handed_over(directory).robots is None
    assert handed_over(directory).servers is not None


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("parts", [1, 4])
def test_pauses_are_kept_between_rounds_and_parts(tmp_path: Path, parts: int) -> None:
    """With a Crawl-delay that is longer than what lies between two fetches; also where the
    robots.txt of one host is on the server of another, in another part."""
    delay = 1.5
    kinds = (RobotsKind.DELAY, RobotsKind.AWAY)
    shape = Settings.plain(
        4, 16, size=400, fanout=1, links=0.0, external=0.0, robots=kinds, crawl_delay=delay, port=0
    )
    with running(Web(shape)) as server:
        crawl_rounds(tmp_path, server, 4, parts)
        log = server.requests()
        slow = {host for host in server.web.hosts() if server.web.robots(host) is kinds[0]}
    found = gaps([entry for entry in log if entry.host in slow])
    assert len(found) >= 8
    assert [gap for gap in found if gap.seconds < delay] == []
    assert max(concurrency(log).values()) == 1
    assert max(robots_asked(log).values()) == 1


@pytest.mark.slow(seconds=30)
def test_the_last_request_of_a_fetch_counts_in_the_next(tmp_path: Path) -> None:
    """Fetches that follow each other at once, where a pause is far longer than lies between."""
    delay = 4.0
    shape = Settings.plain(
        3, 12, size=400, robots=(RobotsKind.DELAY,), crawl_delay=delay, port=0, addresses=1
    )
    with running(Web(shape)) as server:
        records = {url: datum(fetch_time=LONG_AGO) for url in server.web.urls()}
        directory = make_crawldb(str(tmp_path), records, buckets=BUCKETS)
        config = web_config(server.web, generate__max__count=2)
        clock, options = SystemClock(), GenerateOptions(num_fetchers=2, max_num_segments=2)
        made = generate.run(
            InProcess(), directory, config, options, clock, resolver=lambda host: None
        )
        assert len(made.segments) == 2
        done = [
            fetch.run(InProcess(2), directory, config, FetchOptions(name), clock)
            for name in made.segments
        ]
        log = server.requests()
    assert [each.report.counters["fetch_success"] for each in done] == [6, 6]
    assert done[1].report.counters["robots_known"] == 3
    assert set(robots_asked(log).values()) == {1}
    found = gaps(log)
    assert len(found) == 12
    assert [gap for gap in found if gap.seconds < delay] == []


# the datasets


def answer(host: str, asked_ms: int = 0, body: bytes = b"") -> StoredAnswer:
    now = asked_ms or SystemClock().now_ms()
    return StoredAnswer(
        f"http://{host}", now, now + SOON_MS, 200, f"http://{host}/robots.txt", body
    )


def pause(host: str, seconds: float = 3600.0, failures: int = 0) -> ServerPause:
    now = SystemClock().now_ms()
    until = now + round(seconds * 1000)
    return ServerPause(host, until, failures, until if failures else now, 0.0, "why", now)


def hand_over(address: str, hosts: str, body: bytes = b"", buckets: int = BUCKETS) -> bool:
    """As a fetch does that has learnt of hosts, one a letter."""
    directory = CrawlDir(address)
    folder = directory.folder.child("segments/made/crawl_fetch")
    names = [f"{letter}.org" for letter in hosts]
    config, clock = Config(), SystemClock()
    tasks = [
        HandOverTask(
            folder,
            (
                write_answers(
                    folder, number, [answer(name, body=body) for name in names[number::2]]
                ),
            ),
            folder,
            write_pauses(folder, number, [pause(name) for name in names[number::2]]),
        )
        for number in range(2)
    ]
    report = Report("fetch", clock.now_ms(), config.digest())
    done = publish_handed_over(InProcess(), directory, config, clock, tasks, report, buckets)
    directory.folder.delete("segments/made")
    return done


def hand_over_in_child(address: str, hosts: str, body: bytes, buckets: int) -> None:
    hand_over(address, hosts, body, buckets)


def _snapshot(directory: CrawlDir, table: Table) -> Snapshot | None:
    return directory.dataset(table).current()


def known(directory: CrawlDir) -> tuple[dict[str, bytes], set[str]]:
    robots: dict[str, bytes] = {}
    servers: set[str] = set()
    for table in (ROBOTS, SERVERS):
        rows, snapshot = KeyedRows.current(directory.dataset(table)), _snapshot(directory, table)
        for number in range(0 if snapshot is None else snapshot.buckets):
            assert rows is not None
            for found in rows.of_bucket(number):
                if table is ROBOTS:
                    robots |= {each.authority[7]: each.body for each in to_answers(found)}
                else:
                    servers |= {each.server[0] for each in to_pauses(found)}
    return robots, servers


def test_what_is_learnt_is_merged(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()})
    assert known(directory) == ({}, set())
    assert hand_over(str(tmp_path), "abcd", b"old")
    assert hand_over(str(tmp_path), "cdef", b"new")
    robots, servers = known(directory)
    assert robots == {**dict.fromkeys("ab", b"old"), **dict.fromkeys("cdef", b"new")}
    assert servers == set("abcdef")
    assert check(directory, deep=True).faults == []
    for _ in range(3):
        hand_over(str(tmp_path), "a")
    assert len(directory.dataset(ROBOTS).timeline().numbers) == 2
    collect_garbage(directory, Config(), SystemClock(), 1, steal_lock=False)
    assert len(directory.dataset(ROBOTS).timeline().numbers) == 1
    assert known(directory)[1] == set("abcdef")


def test_the_datasets_follow_the_buckets_of_their_crawl(tmp_path: Path) -> None:
    """What may be kept grows with them; fewer, or no multiple, change nothing."""
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()})
    for buckets, hosts, expected in ((3, "abcd", 3), (12, "de", 12), (3, "f", 12), (16, "g", 12)):
        assert hand_over(str(tmp_path), hosts, b"text", buckets)
        found = [_snapshot(directory, table) for table in (ROBOTS, SERVERS)]
        assert [each and each.buckets for each in found] == [expected, expected]
        assert check(directory, deep=True).faults == []
    robots, servers = known(directory)
    assert set(robots) == servers == set("abcdefg")


@pytest.mark.slow
def test_a_hand_over_killed_at_every_write(tmp_path: Path) -> None:
    base = tmp_path / "base"
    make_crawldb(str(base), {"http://a.org/": datum()})
    hand_over(str(base), "abc", b"old")
    at, killed = 1, True
    while killed:
        wreck = tmp_path / f"killed-{at}"
        shutil.copytree(base, wreck)
        killed = run_killed(hand_over_in_child, str(wreck), "cdef", b"new", 2 * BUCKETS, at=at)
        directory = CrawlDir(str(wreck))
        robots, servers = known(directory)
        assert servers in (set("abc"), set("abcdef"))
        assert {letter: robots[letter] for letter in "ab"} == dict.fromkeys("ab", b"old")
        directory.folder.delete("segments")  # no segment of ours
        assert not [fault for fault in check(directory).faults if "copy" not in fault.path]
        assert hand_over(str(wreck), "cdef", b"new")  # what a killed one left is swept away
        assert known(directory)[1] == set("abcdef")
        assert known(directory)[0]["c"] == b"new"
        assert check(directory, deep=True).faults == []
        at += 1
    assert at > 15


@pytest.mark.parametrize("what", ["CURRENT", "manifest.json", "part-"])
def test_damage_costs_what_is_known_and_no_fetch(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()})
    hand_over(str(tmp_path), "abcdef")
    for name in ("robots", "servers"):
        for path in (tmp_path / name).rglob(f"{what}*"):
            path.write_bytes(b"garbage")
    before = handed_over(directory)
    robots = KnownRobots(before.robots, {"a.org"}, 3600.0, SystemClock())
    assert robots.take("http://a.org") is None  # and so it is asked for
    assert hand_over(str(tmp_path), "abcdef")
    assert known(directory)[1] == set("abcdef")
    assert check(directory, deep=True).faults == []
    assert any("begun anew" in record.message for record in caplog.records)


@pytest.mark.parametrize("what", ["CURRENT", "manifest.json", "part-"])
def test_a_repair_of_what_has_no_whole_snapshot(tmp_path: Path, what: str) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()})
    hand_over(str(tmp_path), "abcdef")
    for path in (tmp_path / "robots").rglob(f"{what}*"):
        path.write_bytes(b"garbage")
    found = check(directory)
    assert found.faults
    done = repair(directory, found, Config(), SystemClock())
    assert done
    assert check(directory, deep=True).faults == []
    assert hand_over(str(tmp_path), "abcdef")
    assert known(directory)[1] == set("abcdef")


def test_who_is_kept_out_goes_on_without(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()})
    config, clock = Config(), SystemClock()
    with directory.writing(directory.dataset(SERVERS), "gc", config, clock):
        assert not hand_over(str(tmp_path), "ab")
    assert hand_over(str(tmp_path), "ab")
