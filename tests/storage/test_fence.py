"""A writer that slept past its lock publishes nothing over its successor, and deletes nothing of
it: the store itself refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crawl.errors import Locked
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.lock import LOCK_NAME, hold_file
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import FETCH, PARSE, PARSED, PartManifest, Segment
from crawl.storage.snapshot import Dataset, Transaction
from crawl.testing.clock import ManualClock
from tests.examples import scaled
from tests.storage.locks import NOW, take
from tests.storage.sleeping_writer import PUBLISHED, sleeping_writer
from tests.storage.snapshots import (
    BUCKETS,
    content_of,
    named_files,
    publish,
    report,
    write_bucket,
    writing,
)

SHARED = [
    "file",
    pytest.param("s3", marks=pytest.mark.cluster),
    pytest.param("hdfs", marks=pytest.mark.cluster),
]
"""What two processes can share."""
CHANGES = ["write CURRENT", "write CURRENT.copy", "write snapshots/000002/manifest.json"]


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("place", SHARED, indirect=True)
def test_a_driver_that_was_stopped_between_its_look_and_its_write(place: Folder) -> None:
    """The successor has taken the lock by force, and has published or is about to, when the
    sleeper wakes; and in the end the sleeper is to give back a lock that is not its own."""
    with sleeping_writer() as sleeper:
        for number, change in enumerate(CHANGES):
            for has_published in (False, True):
                dataset = Dataset(place.child(f"{number}-{has_published}"))
                publish(dataset, {0: b"first", 1: b"kept"})
                sleeper.fall_asleep(dataset.folder.address, change)
                with writing(dataset, steal_lock=True) as successor:
                    before = content_of(dataset, successor.base)
                    if has_published:
                        _publish(successor)
                    _assert_refused(sleeper.wake(), change)
                    if not has_published:
                        assert content_of(dataset, dataset.current()) == before
                        _publish(successor)
                _assert_whole(dataset, {0: b"successor", 1: b"kept"})
        last = Dataset(place.child("last"))
        publish(last, {0: b"first"})
        sleeper.fall_asleep(last.folder.address, f"remove {LOCK_NAME}")
        lock = take(last.folder, ManualClock(NOW), steal_lock=True)
        assert sleeper.wake() == PUBLISHED
        lock.verify()
        lock.release()
        _assert_whole(last, {0: b"sleeper"})


def _assert_refused(said: str, change: str) -> None:
    if change == "write CURRENT.copy":  # it had published before it slept
        assert said == PUBLISHED
    else:
        assert "the lock was taken away while this job ran" in said
        assert said.endswith("nothing was published")


def _publish(transaction: Transaction) -> Snapshot:
    base = transaction.base
    kept = [file for file in base.files if file.bucket != 0] if base else []
    files = [*kept, write_bucket(transaction, 0, b"successor")]
    return transaction.publish(files, report(), buckets=BUCKETS, keep=3)


def _assert_whole(dataset: Dataset, expected: dict[int, bytes]) -> None:
    assert content_of(dataset, dataset.current()) == expected
    for number in dataset.timeline().numbers:
        assert None not in content_of(dataset, dataset.snapshot(number)).values()
    publish(dataset, {2: b"following"})
    assert set(dataset.folder.files()) == named_files(dataset)


class Turns:
    """Two writers in threads, of which one at a time goes on to its next change of a file."""

    def __init__(self, order: list[bool]) -> None:
        self._order = iter(order)
        self._condition = threading.Condition()
        self._alive = {False, True}
        self._turn = next(self._order, False)

    def step(self, who: bool) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self._turn == who or (not who) not in self._alive, 60)
            self._turn = next(self._order, who)
            self._condition.notify_all()

    def end(self, who: bool) -> None:
        with self._condition:
            self._alive.discard(who)
            self._turn = not who
            self._condition.notify_all()


@contextmanager
def in_turns(turns: Turns, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every change of a file, and every look at one, is a step of the thread that makes it."""
    with patch.context() as patched:
        for name in ("read", "write", "create", "delete", "remove", "delete_files"):
            patched.setattr(Folder, name, _stepping(turns, getattr(Folder, name)))
        yield


def _stepping(turns: Turns, plain: Callable[..., object]) -> Callable[..., object]:
    def stepping(folder: Folder, *arguments: object, **more: object) -> object:
        who = threading.current_thread().name
        if who in ("sleeper", "successor"):
            turns.step(who == "successor")
        return plain(folder, *arguments, **more)

    return stepping


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 12)), min_size=2, max_size=12))
@example([(False, 6), (True, 22), (False, 1)])  # the sleeper mends the copy of CURRENT, too late
@settings(
    max_examples=scaled(100),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_any_interleaving_of_two_writers_of_which_one_takes_over(
    monkeypatch: pytest.MonkeyPatch, runs: list[tuple[bool, int]]
) -> None:
    """Each adds a bucket of its own to what it found, and the second forces the lock away. What
    anybody was told is published is there, in a history of whole states without a fork."""
    place = Folder(f"memory://{attempt_name('fence')}")
    publish(Dataset(place), {0: b"first"})
    turns = Turns([who for who, count in runs for _ in range(count)])
    done: dict[str, int] = {}

    def work(name: str, bucket: int, steal_lock: bool) -> None:
        try:
            done[name] = publish(
                Dataset(place), {bucket: name.encode()}, steal_lock=steal_lock
            ).number
        except Locked:
            pass
        finally:
            turns.end(name == "successor")

    threads = [
        threading.Thread(target=work, name=name, args=(name, bucket, name == "successor"))
        for name, bucket in (("sleeper", 1), ("successor", 2))
    ]
    with in_turns(turns, monkeypatch):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    dataset = Dataset(place)
    assert len(set(done.values())) == len(done)
    expected = {0: b"first"}
    if "sleeper" in done:
        expected[1] = b"sleeper"
    if "successor" in done:
        expected[2] = b"successor"
    assert done, "one of them is always quicker"
    assert content_of(dataset, dataset.current()) == expected
    for number in dataset.timeline().numbers:
        assert None not in content_of(dataset, dataset.snapshot(number)).values()
    publish(dataset, {3: b"following"}, steal_lock=True)
    assert content_of(dataset, dataset.current()) == {**expected, 3: b"following"}
    place.delete("")


def test_a_parse_that_slept_does_not_replace_its_successors(place: Folder) -> None:
    segment = Segment(place, "20260101000000")
    clock = ManualClock(NOW)
    late = segment.held_by(take(segment.folder, clock))
    successor = segment.held_by(take(segment.folder, clock, steal_lock=True))
    successor.publish_parsed({part: PartManifest((), NOW + 1) for part in PARSED})
    successor.publish(FETCH, PartManifest((), NOW + 1))
    with pytest.raises(Locked, match="nothing was published"):
        late.publish_parsed({part: PartManifest((), NOW) for part in PARSED})
    with pytest.raises(Locked, match="nothing was published"):
        late.publish(FETCH, PartManifest((), NOW))
    for part in (PARSE, FETCH):
        assert segment.require(part).created_ms == NOW + 1


def test_a_file_that_is_held_for_moments_is_not_written_late(place: Folder) -> None:
    clock = ManualClock(NOW)
    with hold_file(place, "rules.txt", "crawl dust", clock) as late:
        late.folder.read_anew("rules.txt")
        place.delete("rules.txt.LOCK")  # as if it was dead
        with hold_file(place, "rules.txt", "crawl dust", clock) as quicker:
            quicker.folder.write("rules.txt", b"quicker")
            with pytest.raises(Locked, match="taken away"):
                late.folder.write("rules.txt", b"late")
    assert place.read("rules.txt") == b"quicker"
