"""What a task takes up of fetches before it, and what it leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from crawl.config import Config
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.hand_over import (
    KnownRobots,
    KnownServers,
    pauses_of,
    read_server_states,
    states_of,
    write_server_states,
)
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.model.report import Report
from crawl.model.tables import ROBOTS, SERVERS
from crawl.robots.stored import StoredAnswer
from crawl.storage.chunks import SERVERS_LEFT
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.keyed_rows import KeyedRows
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_writer
from crawl.storage.robots_store import answers_table
from crawl.storage.server_pauses import ServerPause, pauses_table
from crawl.storage.snapshot import Dataset
from crawl.testing.clock import ManualClock

POLITE = Politeness(ServerPace(5.0))


def stored(folder: Path, table: object, rows: object) -> KeyedRows:
    """A dataset of one bucket."""
    kind = ROBOTS if table is ROBOTS else SERVERS
    dataset = Dataset(Folder(str(folder)), kind)
    with dataset.writing("test", ManualClock(), stale_after_ms=1e9, heartbeat_s=60) as transaction:
        path = f"{transaction.place}/{attempt_name('part-00000')}"
        with open_writer(dataset.folder, path, kind.schema, 2) as writer:
            writer.write(rows)  # type: ignore[arg-type]
        file = BucketFile(0, path, writer.rows, dataset.folder.size(path) or 0)
        transaction.publish([file], Report("test", 0, Config().digest()), buckets=1, keep=1)
    found = KeyedRows.current(dataset)
    assert found is not None
    return found


def answers(now_ms: int) -> list[StoredAnswer]:
    return [
        StoredAnswer(f"http://{letter}.org", now_ms, now_ms + 60_000, 200, "u", b"x" * 10)
        for letter in "abcd"
    ]


def test_answers_are_handed_out_once_and_while_they_count(tmp_path: Path) -> None:
    clock = ManualClock()
    rows = stored(tmp_path, ROBOTS, answers_table(answers(clock.now_ms())))
    for hosts, most in (({"a.org", "b.org"}, 1000), ({"a.org", "b.org"}, 5), (set[str](), 1000)):
        known = KnownRobots(rows, hosts, 3600.0, clock, max_bytes=most)
        assert len(known) == (2 if hosts and most > 5 else 0)
        for letter in "abc":  # those of other hosts are looked up
            found = known.take(f"http://{letter}.org")
            assert found is not None
            assert found.authority == f"http://{letter}.org"
            assert known.take(f"http://{letter}.org") is None
        assert known.take("http://none.org") is None
        assert known.take("https://a.org") is None
    fresh = KnownRobots(rows, {"a.org"}, 3600.0, clock)
    later = replace(answers(clock.now_ms())[0], asked_ms=clock.now_ms() + 5, body=b"new")
    fresh.add([later])
    assert fresh.take("http://a.org") == later
    assert KnownRobots(rows, {"a.org"}, 0.0, clock).take("http://a.org") is None
    clock.advance(61)
    assert KnownRobots(rows, {"a.org"}, 3600.0, clock).take("http://a.org") is None
    assert fresh.take("http://d.org") is None


def test_a_server_waits_for_what_is_left_of_its_pause(tmp_path: Path) -> None:
    clock = ManualClock()
    now = clock.now_ms()
    rows = stored(
        tmp_path,
        SERVERS,
        pauses_table(
            [
                ServerPause("@10.0.0.1", now + 9_000, 0, now, 0.0, "", now),
                ServerPause("a.org", now + 30_000, 2, now + 90_000, 7.0, "Retry-After", now),
                ServerPause("over.org", now - 5, 0, now, 0.0, "", now - 9),
            ]
        ).select(SERVERS.names),
    )
    clock.advance(10)
    known = KnownServers(rows, clock)
    known.load(["a.org"])
    queues = HostQueues(POLITE, known_server=known.take)
    queue = queues.queue("a.org")
    assert queue.ready_at == clock.monotonic() + 20
    assert (queue.exceptions, queue.wait_reason) == (2, "Retry-After")
    assert (queue.pace.delay_s, queue.min_delay_s) == (7.0, 7.0)
    assert queues.queue("over.org").ready_at == 0.0
    assert known.take("a.org") is None
    # when its failures are over, the next one is told so, too
    queue.exceptions, queue.min_delay_s = 0, 0.0
    states = queues.server_states(clock.monotonic() + 60)
    assert states == [ServerState("a.org", 0.0, 0, "")]


def test_what_a_task_leaves_is_what_the_next_one_keeps(tmp_path: Path) -> None:
    clock, segment = ManualClock(), Folder(str(tmp_path))
    left = [
        ServerState("a.org", 30.0, 2, "too_many_failures", 90.0, 7.0, "Retry-After"),
        ServerState("@10.0.0.1", 3.0, 0, ""),
    ]
    folder = segment.child(SERVERS_LEFT)
    piece = write_server_states(folder, 4, left, clock)
    assert piece is not None
    assert write_server_states(folder, 4, [], clock) is None
    assert list(read_server_states(folder, [piece], clock.now_ms())) == left
    clock.advance(10)
    first, second = read_server_states(folder, [piece], clock.now_ms())
    assert (first.pause_s, first.counts_s, second.pause_s) == (20.0, 80.0, 0.0)
    path = Path(folder.path(piece.path))
    path.write_bytes(b"garbage")
    assert list(read_server_states(folder, [piece], clock.now_ms())) == []


def test_addresses_keep_their_distance(tmp_path: Path) -> None:
    spaced = replace(POLITE, ip_delay_s=4.0)
    queues = HostQueues(spaced)
    queues.keep_pauses([ServerState("@10.0.0.1", 3.0, 0, "")], now=100.0)
    assert queues.server_states(101.0) == [ServerState("@10.0.0.1", 2.0, 0, "")]
    assert len(queues) == 0


def test_what_one_engine_owes_another_keeps_whatever_their_clocks() -> None:
    clock = ManualClock(1_800_000_000_000)
    state = ServerState("a.org", 30.0, 2, "too_many_failures", 50.0, 7.0, "Retry-After")
    (pause,) = pauses_of([state], clock)
    assert list(states_of([pause], clock.now_ms())) == [state]
    (later,) = states_of([pause], clock.now_ms() + 10_000)
    assert (later.pause_s, later.counts_s) == (20.0, 40.0)
    (past,) = states_of([pause], clock.now_ms() + 100_000)
    assert (past.pause_s, past.counts_s, past.min_delay_s) == (0.0, 0.0, 7.0)
