from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.output.segment_output import ChunkSize, SegmentOutput
from crawl.fetcher.reporting.request_times import RequestTimes
from crawl.fetcher.reporting.task_monitor import (
    PROGRESS,
    STOP,
    TaskMonitor,
    claim_part,
    pauses_of_previous_task,
    request_tail_end,
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
PROGRESS_FILE = f"{PROGRESS}/part-00002.json"


@pytest.fixture
def segment(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "segment"))


def pauses(segment: Folder, now_ms: int) -> list[float]:
    """How long a task that takes over at that moment waits."""
    slept: list[float] = []
    claim_part(ChunkLog(segment, 2), segment, 2, CONFIG, ManualClock(now_ms), slept.append)
    return slept


def test_the_first_task_of_a_part_does_not_wait(segment: Folder) -> None:
    assert pauses(segment, NOW) == []


def test_a_task_that_follows_at_once_waits_for_the_servers_pause(segment: Folder) -> None:
    pauses(segment, NOW)
    # two seconds until the one before would hear of it, one to act on it, five for servers
    assert pauses(segment, NOW + 500) == [7.5]


def test_a_task_that_follows_late_does_not_wait(segment: Folder) -> None:
    pauses(segment, NOW)
    assert pauses(segment, NOW + 8000) == []


def test_the_last_sign_of_life_counts(segment: Folder) -> None:
    pauses(segment, NOW)
    segment.write(PROGRESS_FILE, json.dumps({"told_ms": NOW + 60_000}).encode())
    assert pauses(segment, NOW + 61_000) == [7.0]


@pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"told_ms": "x"}'])
def test_a_torn_sign_of_life_is_none(segment: Folder, torn: bytes) -> None:
    pauses(segment, NOW)
    segment.write(PROGRESS_FILE, torn)
    assert pauses(segment, NOW + 8000) == []


def test_no_clock_makes_anybody_wait_for_long(segment: Folder) -> None:
    pauses(segment, NOW + 10**9)
    assert pauses(segment, NOW) == [8.0]


def test_a_following_task_keeps_the_pauses_that_are_not_over(segment: Folder) -> None:
    paused = [["a.org", 600.0, 3], ["b.org", 20.0, 0], ["c.org", 5.0, 1]]
    segment.write(PROGRESS_FILE, json.dumps({"told_ms": NOW, "paused": paused}).encode())
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
    segment.write(PROGRESS_FILE, torn)
    assert pauses_of_previous_task(segment, 2, NOW) == []


class StandingEngine:
    """Only what a monitor looks at."""

    def __init__(self) -> None:
        self.counters = Counters({"records": 10, "bytes": 5000})
        self.queues = HostQueues(Politeness(ServerPace(1.0)))


class Monitored:
    def __init__(
        self, segment: Folder, monitor: TaskMonitor, log: ChunkLog, clock: ManualClock
    ) -> None:
        self.segment = segment
        self.log = log
        self.clock = clock
        self.engine: Any = StandingEngine()
        self._monitor = monitor

    def look(self) -> str:
        """Calls the monitor now, and then as often as it takes to have its answer."""
        reason = self._monitor(self.engine, 3)
        answer = self._monitor._answer
        if answer is not None:
            answer.result()
        return reason or self._monitor(self.engine, 3)

    @property
    def progress(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.segment.read(PROGRESS_FILE) or b"{}")
        return content


@pytest.fixture
def monitored(segment: Folder) -> Iterator[Monitored]:
    clock = ManualClock(NOW)
    clock.advance(100)
    log = ChunkLog(segment, 2)
    log.claim(NOW)
    output = SegmentOutput(segment, 2, log, ChunkSize(), 4)
    file = PartFile(2, "part.parquet", 50, 0)
    with TaskMonitor(output, file, CONFIG, clock, earlier_records=7) as monitor:
        yield Monitored(segment, monitor, log, clock)


def test_the_progress_of_the_part_is_reported(monitored: Monitored) -> None:
    assert monitored.look() == ""
    assert monitored.progress["done"] == 17
    assert monitored.progress["urls"] == 50
    assert monitored.progress["busy_threads"] == 3
    assert monitored.progress["told_ms"] == NOW + 100_000
    monitored.engine.counters["records"] += 30
    monitored.engine.counters["bytes"] += 40_000
    monitored.clock.advance(1)
    monitored.look()
    assert monitored.progress["done"] == 17
    monitored.clock.advance(1)
    monitored.look()
    assert monitored.progress["done"] == 47
    assert monitored.progress["pages_per_s"] == 15
    assert monitored.progress["kb_per_s"] == 20
    assert monitored.progress["errors"] == {}


def test_followed_urls_are_reported_and_done_never_exceeds_all(
    monitored: Monitored,
) -> None:
    monitored.engine.counters |= Counters({"records": 60, "redirects_followed": 20})
    monitored.look()
    assert (monitored.progress["done"], monitored.progress["followed"]) == (67, 20)
    monitored.engine.counters["handed_back.hung"] += 10
    monitored.clock.advance(2)
    monitored.look()
    assert (monitored.progress["done"], monitored.progress["urls"]) == (70, 50)


def test_errors_and_the_state_of_the_queues_are_reported(monitored: Monitored) -> None:
    monitored.engine.counters |= Counters(
        {"answers.http_200": 9, "answers.http_301": 2, "answers.http_503": 3, "answers.tls": 1}
    )
    for host in ("a.org", "a.org", "b.org"):
        monitored.engine.queues.put(FetchItem(f"http://{host}/", host, f"http://{host}", host, DUE))
    monitored.engine.queues.queue("b.org").wait_until(1000.0)
    monitored.look()
    assert monitored.progress["errors"] == {"http_503": 3, "tls": 1}
    assert (monitored.progress["queues_ready"], monitored.progress["queues_waiting"]) == (1, 1)
    assert monitored.progress["longest_queue_s"] == 900.0


def test_servers_that_must_be_left_alone_are_reported(monitored: Monitored) -> None:
    queues, now = monitored.engine.queues, monitored.clock.monotonic()
    queues.queue("failed.org").exceptions = 2
    queues.queue("failed.org").wait_until(now + 3)
    queues.queue("asked.org").wait_until(now + 300)
    queues.queue("usual.org").wait_until(now + 5)
    queues.queue("recovered.org").exceptions = 1
    queues.keep_pauses([ServerState("later.org", 60.0, 0, "")], now)
    monitored.look()
    found = [(key, exceptions) for key, _, exceptions in monitored.progress["paused"]]
    assert found == [("asked.org", 0), ("later.org", 0), ("failed.org", 2)]


def test_it_hears_that_it_is_to_end(monitored: Monitored) -> None:
    assert monitored.look() == ""
    monitored.segment.write(STOP, b"")
    assert monitored.look() == ""
    monitored.clock.advance(2)
    assert monitored.look() == "interrupted"


def test_it_hears_that_the_rest_is_left_for_the_next_round(monitored: Monitored) -> None:
    request_tail_end(monitored.segment)
    assert monitored.look() == "tail"
    monitored.segment.write(STOP, b"")  # Ctrl-C goes before
    monitored.clock.advance(2)
    assert monitored.look() == "interrupted"
    request_tail_end(monitored.segment)
    assert monitored.segment.read(STOP) == b""


def test_servers_at_work_are_reported(monitored: Monitored) -> None:
    for host in ("a.org", "a.org", "b.org"):
        monitored.engine.queues.put(FetchItem(f"http://{host}/", host, f"http://{host}", host, DUE))
    now = monitored.clock.monotonic()
    monitored.engine.queues.take(now)
    monitored.look()
    assert monitored.progress["servers_busy"] == 1
    assert monitored.progress["longest_chain_s"] == 1.0


def test_it_hears_that_another_task_has_the_part(monitored: Monitored) -> None:
    ChunkLog(monitored.segment, 2).claim(NOW)
    assert monitored.look() == "superseded"
    # the task that has it now reports how far it is
    assert monitored.progress == {}


def test_a_store_that_fails_for_a_moment_ends_nothing(
    monitored: Monitored, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(folder: Folder, name: str, data: bytes) -> None:
        raise StorageError("no space")

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "write", fails)
        assert monitored.look() == ""
    monitored.clock.advance(2)
    assert monitored.look() == ""
    assert monitored.progress["done"] == 17


def test_its_last_word_has_all_that_was_counted(segment: Folder) -> None:
    log = ChunkLog(segment, 2)
    log.claim(NOW)
    output = SegmentOutput(segment, 2, log, ChunkSize(), 4)
    file, times = PartFile(2, "part.parquet", 50, 0), RequestTimes()
    engine: Any = StandingEngine()
    with TaskMonitor(output, file, CONFIG, ManualClock(NOW), 7, times) as monitor:
        monitor(engine, 3)
        engine.counters["records"] += 5  # within the interval: not reported yet
        times.add(40)
        output.parse_counters["parse.success"] += 2
    progress = json.loads(segment.read(PROGRESS_FILE) or b"{}")
    assert progress["ended"]
    assert progress["run"] == log.token
    assert progress["busy_threads"] == 0
    assert progress["counters"] == {"records": 15, "bytes": 5000, "parse.success": 2}
    assert sum(progress["request_times"]["counts"]) == 1
    assert progress["request_times"]["ms"] == 40
    assert progress["memory_bytes"] > 1 << 20


def test_who_has_lost_the_part_has_no_last_word(segment: Folder) -> None:
    log = ChunkLog(segment, 2)
    log.claim(NOW)
    output = SegmentOutput(segment, 2, log, ChunkSize(), 4)
    file = PartFile(2, "part.parquet", 50, 0)
    engine: Any = StandingEngine()
    with TaskMonitor(output, file, CONFIG, ManualClock(NOW), 7) as monitor:
        monitor(engine, 3)
        monitor._answer.result()  # type: ignore[union-attr]
        ChunkLog(segment, 2).claim(NOW)
    assert "ended" not in json.loads(segment.read(PROGRESS_FILE) or b"{}")
