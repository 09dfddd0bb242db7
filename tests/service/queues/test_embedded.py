from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from msgspec.structs import replace

from crawl.errors import Locked, StorageError
from crawl.service.queues.embedded import EmbeddedQueue
from crawl.service.queues.queue import Entry, Queue
from tests.service.stores.processes import line_of, started

_PUT_UNTIL_KILLED = """
import sys
from pathlib import Path
from crawl.service.queues.embedded import EmbeddedQueue
from crawl.service.queues.queue import Entry
queue = EmbeddedQueue(Path(sys.argv[1]))
print("ready", flush=True)
for turn in range(1_000_000):
    entries = [Entry(f"{turn}/{n}", f"http://h/{turn}/{n}", "h", 1, 0, b"p" * n) for n in range(20)]
    queue.put(entries).result()
    if turn % 3 == 2:
        queue.claim(1, 0, per_key=10_000)
        queue.finish([f"{turn - 1}/{n}" for n in range(20)]).result()
    print(turn, flush=True)
"""


def entry(id: str, key: str = "h", priority: int = 1, not_before_ms: int = 0) -> Entry:
    return Entry(id, f"http://{key}/{id}", key, priority, not_before_ms, f"about {id}".encode())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "service" / "queue.sqlite"


@pytest.fixture
def queue(path: Path) -> Iterator[EmbeddedQueue]:
    queue = EmbeddedQueue(path)
    yield queue
    queue.close()


def ids(entries: list[Entry]) -> list[str]:
    return [each.id for each in entries]


def test_what_was_put_is_claimed_once_as_it_was(queue: Queue) -> None:
    entries = [entry(str(n), f"h{n}") for n in range(5)]
    assert queue.put(entries).result(60) == 5
    assert queue.claim(3, 0, per_key=1) == entries[:3]
    assert queue.claim(3, 0, per_key=1) == entries[3:]
    assert queue.claim(3, 0, per_key=1) == []
    assert queue.contains("0") and not queue.contains("5")
    found = queue.entry("0")
    assert found is not None and found.id == "0" and queue.entry("5") is None
    assert queue.finish(["0", "1", "unknown", "0"]).result(60) == 2
    assert not queue.contains("0")
    assert queue.count().claimed == 3


def test_priority_then_age(queue: Queue) -> None:
    queue.put([entry("low", "a", 2), entry("old", "a"), entry("new", "b"), entry("urgent", "c", 0)])
    queue.put([entry("newest", "a")]).result(60)
    found = ids(queue.claim(10, 0, per_key=10))
    assert found == ["urgent", "old", "new", "newest", "low"]


def test_low_priority_does_not_starve(queue: Queue) -> None:
    for priority in range(3):
        queue.put([entry(f"{priority}/{n}", f"h{n}", priority) for n in range(300)]).result(60)
    claimed = [each.priority for _ in range(81) for each in queue.claim(1, 0, per_key=10)]
    assert Counter(claimed) == {0: 72, 1: 8, 2: 1}
    assert claimed[:9] == [0] * 8 + [1]


def test_a_share_is_not_kept_for_those_that_cannot_be_claimed(queue: Queue) -> None:
    queue.put([entry(f"0/{n}", f"h{n}", 0) for n in range(20)])
    queue.put([entry("low", "busy", 2), entry("lower", "busy", 2)]).result(60)
    assert {each.id for each in queue.claim(9, 0, per_key=1)} >= {"low"}
    # the other's host has its one under way
    assert {each.priority for each in queue.claim(12, 0, per_key=1)} == {0}


def test_ten_thousand_of_one_key_do_not_hide_the_others(queue: Queue) -> None:
    queue.put([entry(f"many {n}", "many") for n in range(10_000)])
    queue.put([entry(f"few {n}", f"few {n}") for n in range(5)]).result(60)
    assert Counter(each.key for each in queue.claim(7, 0, per_key=100)) == Counter(
        {"many": 2, **{f"few {n}": 1 for n in range(5)}}
    )
    # of a key that has its share no more is claimed, however often it is asked for
    assert ids(queue.claim(100, 0, per_key=5)) == ["many 2", "many 3", "many 4"]
    assert queue.claim(100, 0, per_key=5) == []
    assert queue.count().waiting == {1: 10_000 - 5}


def test_shares_by_name(queue: Queue) -> None:
    queue.put([entry(f"{key}{n}", key) for n in range(9) for key in "abc"]).result(60)
    found = queue.claim(100, 0, per_key={"a": 4, "b": 0}, per_other_key=2)
    assert Counter(each.key for each in found) == {"a": 4, "c": 2}
    shares = {"a": 5, "b": 1}
    found = queue.claim(100, 0, per_key=shares, per_other_key=2)
    assert Counter(each.key for each in found) == {"a": 1, "b": 1}
    shares["b"] = 3  # the same mapping, changed
    assert ids(queue.claim(100, 0, per_key=shares, per_other_key=2)) == ["b1", "b2"]


def test_a_moment_is_waited_for_and_age_counts_then(queue: Queue) -> None:
    queue.put([entry("later", not_before_ms=1000), entry("now")]).result(60)
    assert ids(queue.claim(9, 999, per_key=9)) == ["now"]
    queue.put([entry("younger")]).result(60)
    assert ids(queue.claim(9, 1000, per_key=9)) == ["later", "younger"]
    assert queue.count().waiting == {}


def test_what_is_released_comes_again_in_its_place(queue: Queue) -> None:
    queue.put([entry(str(n)) for n in range(4)]).result(60)
    assert ids(queue.claim(2, 0, per_key=2)) == ["0", "1"]
    assert queue.release("0", 500).result(60) is True
    assert queue.release("0", 100).result(60) is False  # it is nobody's
    assert queue.release("unknown", 0).result(60) is False
    assert ids(queue.claim(1, 0, per_key=2)) == ["2"]
    queue.finish(["1", "2"]).result(60)
    assert ids(queue.claim(9, 500, per_key=2)) == ["0", "3"]


def test_an_id_that_is_in_the_queue_is_not_put_again(queue: Queue) -> None:
    assert queue.put([entry("a"), entry("a", "other"), entry("b")]).result(60) == 2
    assert queue.put([entry("a")]).result(60) == 0
    assert ids(queue.claim(9, 0, per_key=9)) == ["a", "b"]
    assert queue.put([entry("a")]).result(60) == 0
    queue.finish(["a"]).result(60)
    assert queue.put([entry("a", "other")]).result(60) == 1
    assert [each.key for each in queue.claim(9, 0, per_key=9)] == ["other"]


def test_what_is_finished_while_it_waits_is_never_claimed(queue: Queue) -> None:
    queue.put([entry(str(n), priority=n % 2) for n in range(6)]).result(60)
    assert queue.finish(["0", "3", "5"]).result(60) == 3
    assert queue.count().waiting == {0: 2, 1: 1}
    assert ids(queue.claim(9, 0, per_key=9)) == ["2", "4", "1"]
    assert queue.claim(9, 0, per_key=9) == []
    assert (queue.count().waiting, queue.count().claimed) == ({}, 3)


def test_all_that_is_not_finished_is_there_after_it_was_closed(path: Path) -> None:
    queue = EmbeddedQueue(path)
    queue.put([entry("a"), entry("b", "k", 0), entry("c"), entry("d")])
    queue.put([entry("e")]).result(60)
    queue.claim(3, 0, per_key=9)
    queue.finish(["a"])
    queue.release("c", 700)  # it is closed after these
    queue.close()
    again = EmbeddedQueue(path)
    assert again.count().waiting == {0: 1, 1: 3}
    assert again.count().unfinished == 4
    assert ids(again.claim(9, 0, per_key=9)) == ["b", "d", "e"]
    assert ids(again.claim(9, 700, per_key=9)) == ["c"]
    again.close()


@pytest.mark.slow
@pytest.mark.parametrize("turns", [1, 10, 60])
def test_a_kill_loses_nothing_that_was_acknowledged(path: Path, turns: int) -> None:
    with started(_PUT_UNTIL_KILLED, str(path)) as process:
        assert line_of(process) == b"ready"
        told = -1
        for _ in range(turns):
            told = int(line_of(process))
        process.kill()
        process.wait()
        assert process.stdout is not None
        told = max([told, *map(int, process.stdout.read().split())])
    queue = EmbeddedQueue(path)
    turn_of = Counter(
        int(each.id.partition("/")[0]) for each in queue.claim(1_000_000, 0, per_key=1_000_000)
    )
    queue.close()
    for turn in range(told + 1):
        finished = turn % 3 == 1 and turn < told
        if not (turn == told and turn % 3 == 1):  # the next turn may have finished it already
            assert turn_of.pop(turn, 0) == (0 if finished else 20), turn
        else:
            assert turn_of.pop(turn, 0) in (0, 20)
    # what was not told is there whole or not at all
    assert turn_of in ({}, {told + 1: 20})


@pytest.mark.slow
def test_one_process_owns_the_file(path: Path) -> None:
    with started(_PUT_UNTIL_KILLED, str(path)) as process:
        assert line_of(process) == b"ready"
        with pytest.raises(Locked, match=f"{path} belongs to process {process.pid}, "):
            EmbeddedQueue(path)
        process.kill()
        process.wait()
        EmbeddedQueue(path).close()


def test_a_second_queue_of_this_process_is_told_so(path: Path, queue: Queue) -> None:
    with pytest.raises(Locked, match=f"belongs to process {os.getpid()}, "):
        EmbeddedQueue(path)
    queue.close()
    EmbeddedQueue(path).close()


def test_submitters_share_a_transaction(path: Path, queue: EmbeddedQueue) -> None:
    """While one cannot be written, others come: together they are the next transaction."""
    commits: list[str] = []
    queue._writer.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    first = queue.put([entry("first")])
    is_taken = Event()
    while not queue._wishes.empty():
        is_taken.wait(0.01)
    others = [queue.put([entry(str(n))]) for n in range(200)]
    blocker.execute("ROLLBACK")
    blocker.close()
    assert [first.result(60), *(other.result(60) for other in others)] == [1] * 201
    assert len(commits) == 2


def test_many_threads_put_claim_and_finish(queue: EmbeddedQueue) -> None:
    is_put = Event()
    done: list[str] = []

    def put(thread: int) -> None:
        futures = [queue.put([entry(f"{thread}/{n}", f"h{n % 7}", n % 3)]) for n in range(100)]
        assert [future.result(60) for future in futures] == [1] * 100

    def work() -> None:
        while True:
            is_last = is_put.is_set()
            claimed = queue.claim(5, 0, per_key=3)
            if claimed:
                done.extend(ids(claimed))
                assert queue.finish(ids(claimed)).result(60) == len(claimed)
            elif is_last and not queue.count().unfinished:
                return

    with ThreadPoolExecutor(8) as pool:
        workers = [pool.submit(work) for _ in range(3)]
        try:
            list(pool.map(put, range(5)))
        finally:
            is_put.set()
        for worker in workers:
            worker.result(60)
    assert sorted(done) == sorted(f"{thread}/{n}" for thread in range(5) for n in range(100))


def test_what_cannot_be_stored_spoils_nothing(queue: EmbeddedQueue) -> None:
    for wrong in (
        Entry("half \ud800", "u", "k", 0, 0, b""),
        Entry("n", "u", "k", 1 << 63, 0, b""),
        Entry("n", "u", "k", 0, -(1 << 64), b""),
    ):
        with pytest.raises(ValueError):
            queue.put([entry("good"), wrong])
    assert queue.put([entry("good")]).result(60) == 1


def test_a_write_that_fails_fails_alone(queue: EmbeddedQueue) -> None:
    queue._writer.execute(
        "CREATE TEMP TRIGGER full BEFORE INSERT ON entries WHEN NEW.id = 'poison'"
        " BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    puts = [queue.put([entry(each), entry(f"{each}2")]) for each in ("a", "poison", "b")]
    assert puts[0].result(60) == puts[2].result(60) == 2
    with pytest.raises(StorageError, match="no room"):
        puts[1].result(60)
    assert sorted(ids(queue.claim(9, 0, per_key=9))) == ["a", "a2", "b", "b2"]
    assert not queue.contains("poison2")


def test_a_file_that_is_something_else_is_named(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"something else" * 1000)
    for _ in range(2):  # and it is not left locked
        with pytest.raises(StorageError, match=f"{path} is damaged"):
            EmbeddedQueue(path)


def test_a_later_layout_is_left_alone(path: Path) -> None:
    EmbeddedQueue(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StorageError, match="layout 99"):
        EmbeddedQueue(path)


def test_a_closed_queue_says_so(queue: Queue) -> None:
    queue.close()
    queue.close()
    for use in (
        lambda: queue.put([entry("a")]),
        lambda: queue.claim(1, 0, per_key=1),
        lambda: queue.contains("a"),
    ):
        with pytest.raises(StorageError, match="is closed"):
            use()


def test_a_flood_does_not_cost_its_disk_for_ever(path: Path) -> None:
    queue = EmbeddedQueue(path)
    kept = [replace(entry(f"kept {n}"), payload=bytes(500)) for n in range(50)]
    queue.put(kept).result()
    flood = [replace(entry(f"{n}"), payload=bytes(2000)) for n in range(15_000)]
    queue.put(flood).result()
    queue.finish([each.id for each in flood]).result()
    for _ in range(20):
        queue.shrink()
    look = sqlite3.connect(path)
    (free,) = look.execute("PRAGMA freelist_count").fetchone()
    look.close()
    # enough stays for the next, and all else is given back
    assert free == 4096
    queue.put([entry("another")]).result()
    queue.close()
    assert path.stat().st_size < 5000 * 4096
    again = EmbeddedQueue(path)
    assert len(again.claim(100, 0, per_key=100)) == 51
    again.close()


def test_the_log_of_changes_is_cut_after_a_flood(path: Path) -> None:
    queue = EmbeddedQueue(path)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entries").fetchall()  # so that the log cannot begin anew
    flood = [replace(entry(f"{n}"), payload=bytes(2000)) for n in range(10_000)]
    queue.put(flood).result()
    queue.finish([each.id for each in flood]).result()
    log = path.with_name(f"{path.name}-wal")
    assert log.stat().st_size > 20 << 20
    reader.execute("COMMIT")
    reader.close()
    for n in range(20):
        queue.put([replace(entry(f"after {n}"), payload=bytes(500_000))]).result()
    assert log.stat().st_size <= 20 << 20
    queue.close()
