from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.frontier.queues import HostQueues, ServerState
from crawl.fetcher.output.segment_output import ChunkSize, SegmentOutput
from crawl.fetcher.reporting.request_times import RequestTimes
from crawl.fetcher.reporting.task_monitor import (
    PROGRESS,
    STOP,
    Monitor,
    claim_part,
    monitor_task,
    pauses_of_previous_task,
)
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.storage.chunks import ChunkLog
from crawl.storage.folder import Folder
from crawl.storage.segments import PartFile
from crawl.testing.clock import ManualClock
from tests.fetcher.small_web import DUE

NOW = 1_800_000_000_000
CONFIG = Config.of({"fetcher.server.delay": 5, "fetcher.progress.interval": 2})
TOLD = f"{PROGRESS}/part-00002.json"


@pytest.fixture
def segment(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "segment"))


def pauses(segment: Folder, now_ms: int) -> list[float]:
    """How long whoever takes over at that moment waits."""
    slept: list[float] = []
    claim_part(ChunkLog(segment, 2), segment, 2, CONFIG, ManualClock(now_ms), slept.append)
    return slept


def test_the_first_task_of_a_part_does_not_wait(segment: Folder) -> None:
    assert pauses(segment, NOW) == []


def test_who_follows_at_once_waits_for_the_servers_pause(segment: Folder) -> None:
    pauses(segment, NOW)
    # two seconds until the one before would hear of it, one to act on it, five for servers
    assert pauses(segment, NOW + 500) == [7.5]


def test_who_follows_late_does_not_wait(segment: Folder) -> None:
    pauses(segment, NOW)
    assert pauses(segment, NOW + 8000) == []


def test_the_last_sign_of_life_counts(segment: Folder) -> None:
    pauses(segment, NOW)
    segment.write(TOLD, json.dumps({"told_ms": NOW + 60_000}).encode())
    assert pauses(segment, NOW + 61_000) == [7.0]


@pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"told_ms": "x"}'])
def test_a_torn_sign_of_life_is_none(segment: Folder, torn: bytes) -> None:
    pauses(segment, NOW)
    segment.write(TOLD, torn)
    assert pauses(segment, NOW + 8000) == []


def test_no_clock_makes_anybody_wait_for_long(segment: Folder) -> None:
    pauses(segment, NOW + 10**9)
    assert pauses(segment, NOW) == [8.0]


def test_who_follows_keeps_the_pauses_that_are_not_over(segment: Folder) -> None:
    paused = [["a.org", 600.0, 3], ["b.org", 20.0, 0], ["c.org", 5.0, 1]]
    segment.write(TOLD, json.dumps({"told_ms": NOW, "paused": paused}).encode())
    assert pauses_of_previous_task(segment, 2, NOW + 10_000) == [
        ServerState("a.org", 590.0, 3, ""),
        ServerState("b.org", 10.0, 0, ""),
    ]
    assert (
        pauses_of_previous_task(segment, 2, NOW - 10_000)[0].pause_s == 600
    )  # a clock was set back
    assert pauses_of_previous_task(segment, 3, NOW) == []


@pytest.mark.parametrize(
    "torn", [b"", b"{", b"[]", b'{"told_ms": 1}', b'{"told_ms": 1, "paused": [[1]]}']
)
def test_torn_pauses_are_none(segment: Folder, torn: bytes) -> None:
    segment.write(TOLD, torn)
    assert pauses_of_previous_task(segment, 2, NOW) == []


class StandingEngine:
    """Only what a watch looks at."""

    def __init__(self) -> None:
        self.counters = Counters({"records": 10, "bytes": 5000})
        self.queues = HostQueues(Politeness(ServerPace(1.0)))


class Watched:
    def __init__(self, segment: Folder, watch: Monitor, log: ChunkLog, clock: ManualClock) -> None:
        self.segment = segment
        self.log = log
        self.clock = clock
        self.engine: Any = StandingEngine()
        self._watch = watch

    def look(self) -> str:
        """Calls the watch now, and then as often as it takes to have its answer."""
        reason = self._watch(self.engine, 3)
        answer = self._watch._answer  # type: ignore[attr-defined]
        if answer is not None:
            answer.result()
        return reason or self._watch(self.engine, 3)

    @property
    def told(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.segment.read(TOLD) or b"{}")
        return content


@pytest.fixture
def watched(segment: Folder) -> Iterator[Watched]:
    clock = ManualClock(NOW)
    clock.advance(100)
    log = ChunkLog(segment, 2)
    log.claim(NOW)
    output = SegmentOutput(segment, 2, log, ChunkSize(), 4)
    file = PartFile(2, "part.parquet", 50, 0)
    with monitor_task(segment, file, log, output, CONFIG, clock, done=7) as watch:
        yield Watched(segment, watch, log, clock)


def test_it_tells_how_far_the_part_is(watched: Watched) -> None:
    assert watched.look() == ""
    assert watched.told["done"] == 17
    assert watched.told["urls"] == 50
    assert watched.told["busy_threads"] == 3
    assert watched.told["told_ms"] == NOW + 100_000
    watched.engine.counters["records"] += 30
    watched.engine.counters["bytes"] += 40_000
    watched.clock.advance(1)
    watched.look()
    assert watched.told["done"] == 17
    watched.clock.advance(1)
    watched.look()
    assert watched.told["done"] == 47
    assert watched.told["pages_per_s"] == 15
    assert watched.told["kb_per_s"] == 20
    assert watched.told["errors"] == {}


def test_followed_urls_are_told_and_done_is_never_more_than_there_is(watched: Watched) -> None:
    watched.engine.counters |= Counters({"records": 60, "redirects_followed": 20})
    watched.look()
    assert (watched.told["done"], watched.told["followed"]) == (67, 20)
    watched.engine.counters["handed_back.hung"] += 10
    watched.clock.advance(2)
    watched.look()
    assert (watched.told["done"], watched.told["urls"]) == (70, 50)


def test_it_tells_what_goes_wrong_and_how_the_queues_stand(watched: Watched) -> None:
    watched.engine.counters |= Counters(
        {"answers.http_200": 9, "answers.http_301": 2, "answers.http_503": 3, "answers.tls": 1}
    )
    for host in ("a.org", "a.org", "b.org"):
        watched.engine.queues.put(FetchItem(f"http://{host}/", host, f"http://{host}", host, DUE))
    watched.engine.queues.queue("b.org").wait_until(1000.0)
    watched.look()
    assert watched.told["errors"] == {"http_503": 3, "tls": 1}
    assert (watched.told["queues_ready"], watched.told["queues_waiting"]) == (1, 1)
    assert watched.told["longest_queue_s"] == 900.0


def test_it_tells_who_must_be_left_alone(watched: Watched) -> None:
    queues, now = watched.engine.queues, watched.clock.monotonic()
    queues.queue("failed.org").exceptions = 2
    queues.queue("failed.org").wait_until(now + 3)
    queues.queue("asked.org").wait_until(now + 300)
    queues.queue("usual.org").wait_until(now + 5)
    queues.queue("recovered.org").exceptions = 1
    queues.keep_pauses([ServerState("later.org", 60.0, 0, "")], now)
    watched.look()
    found = [(key, exceptions) for key, _, exceptions in watched.told["paused"]]
    assert found == [("asked.org", 0), ("later.org", 0), ("failed.org", 2)]


def test_it_hears_that_it_is_to_end(watched: Watched) -> None:
    assert watched.look() == ""
    watched.segment.write(STOP, b"")
    assert watched.look() == ""
    watched.clock.advance(2)
    assert watched.look() == "interrupted"


def test_it_hears_that_another_task_has_the_part(watched: Watched) -> None:
    ChunkLog(watched.segment, 2).claim(NOW)
    assert watched.look() == "superseded"
    # whoever has it now tells how far it is
    assert watched.told == {}


def test_a_store_that_fails_for_a_moment_ends_nothing(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(folder: Folder, name: str, data: bytes) -> None:
        raise StorageError("no space")

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "write", fails)
        assert watched.look() == ""
    watched.clock.advance(2)
    assert watched.look() == ""
    assert watched.told["done"] == 17


def test_its_last_word_has_all_that_was_counted(segment: Folder) -> None:
    log = ChunkLog(segment, 2)
    log.claim(NOW)
    output = SegmentOutput(segment, 2, log, ChunkSize(), 4)
    file, times = PartFile(2, "part.parquet", 50, 0), RequestTimes()
    engine: Any = StandingEngine()
    with monitor_task(segment, file, log, output, CONFIG, ManualClock(NOW), 7, times) as watch:
        watch(engine, 3)
        engine.counters["records"] += 5  # within the interval: nobody was told
        times.add(40)
        output.parse_counters["parse.success"] += 2
    told = json.loads(segment.read(TOLD) or b"{}")
    assert told["ended"]
    assert told["run"] == log.token
    assert told["busy_threads"] == 0
    assert told["counters"] == {"records": 15, "bytes": 5000, "parse.success": 2}
    assert sum(told["request_times"]["counts"]) == 1
    assert told["request_times"]["ms"] == 40
    assert told["memory_bytes"] > 1 << 20


def test_who_has_lost_the_part_has_no_last_word(segment: Folder) -> None:
    log = ChunkLog(segment, 2)
    log.claim(NOW)
    output = SegmentOutput(segment, 2, log, ChunkSize(), 4)
    file = PartFile(2, "part.parquet", 50, 0)
    engine: Any = StandingEngine()
    with monitor_task(segment, file, log, output, CONFIG, ManualClock(NOW), 7) as watch:
        watch(engine, 3)
        watch._answer.result()  # type: ignore[attr-defined]
        ChunkLog(segment, 2).claim(NOW)
    assert "ended" not in json.loads(segment.read(TOLD) or b"{}")
