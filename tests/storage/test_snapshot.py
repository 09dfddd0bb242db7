from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl.errors import Locked, NoSnapshot, StorageError
from crawl.model.report import Report
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.snapshot import BucketFile, Dataset, Snapshot, Transaction
from crawl.testing.clock import ManualClock
from tests.storage.conftest import Lives
from tests.storage.crashing import Crash, crashing

NOW = 1_800_000_000_000
BUCKETS = 4


@contextmanager
def writing(dataset: Dataset, *, force: bool = False) -> Iterator[Transaction]:
    with dataset.writing(
        "test", ManualClock(NOW), stale_after_ms=60_000, heartbeat_s=3600, force=force
    ) as transaction:
        yield transaction


def report(phase: str = "inject") -> Report:
    return Report(phase, NOW, "digest")


def write_bucket(transaction: Transaction, bucket: int, content: bytes) -> BucketFile:
    path = f"{transaction.place}/{attempt_name(f'part-{bucket:05d}')}"
    transaction.folder.write(path, content)
    return BucketFile(bucket, path, 1, len(content))


def publish(
    dataset: Dataset, buckets: dict[int, bytes], *, keep: int = 3, force: bool = False
) -> Snapshot:
    """Rewrites these buckets; the others are named again."""
    with writing(dataset, force=force) as transaction:
        written = [write_bucket(transaction, *item) for item in buckets.items()]
        base = transaction.base
        files = base.replacing(written, buckets) if base else written
        return transaction.publish(files, report(), buckets=BUCKETS, keep=keep)


def content_of(dataset: Dataset, snapshot: Snapshot | None) -> dict[int, bytes | None]:
    files = snapshot.files if snapshot else ()
    return {file.bucket: dataset.folder.read(file.path) for file in files}


def named_files(dataset: Dataset) -> set[str]:
    """Everything that may lie in the dataset's folder when nobody writes."""
    named = {"CURRENT", "CURRENT.previous"}
    for number in dataset.timeline().numbers:
        folder = f"snapshots/{number:06d}"
        named |= {f"{folder}/manifest.json", f"{folder}/report.json"}
        named |= {file.path for file in dataset.snapshot(number).files}
    return named


def test_nothing_yet(place: Folder) -> None:
    dataset = Dataset(place)
    assert dataset.current() is None
    assert dataset.timeline().current is None
    with pytest.raises(NoSnapshot, match="nothing here yet"):
        dataset.require_current()
    with pytest.raises(NoSnapshot, match="no snapshot 1"):
        dataset.snapshot(1)
    assert dataset.report(1) == {}


def test_a_transaction_that_publishes_nothing_changes_nothing(place: Folder) -> None:
    dataset = Dataset(place)
    with writing(dataset) as transaction:
        assert transaction.base is None
        write_bucket(transaction, 0, b"x")
        transaction.scratch.write("between", b"x")
    assert dataset.current() is None
    with writing(dataset) as transaction:
        assert transaction.number == 1
        assert transaction.swept == 1
    assert place.files() == {}


def test_publish(place: Folder) -> None:
    dataset = Dataset(place)
    with writing(dataset) as transaction:
        transaction.scratch.write("between", b"x")
        file = write_bucket(transaction, 2, b"two")
        published = transaction.publish(
            [file], report(), buckets=BUCKETS, keep=3, notes={"segments": {"s": {}}}
        )
    again = Dataset(place)
    assert again.current() == again.require_current() == published
    assert (published.number, published.buckets, published.phase) == (1, BUCKETS, "inject")
    assert (published.rows, published.bytes, published.created_ms) == (1, 3, NOW)
    assert published.notes == {"segments": {"s": {}}}
    assert published.file_of(2) == file
    assert published.file_of(0) is None
    assert again.report(1)["settings_digest"] == "digest"
    assert set(place.files()) == named_files(dataset)


def test_an_untouched_bucket_is_named_again_and_not_copied(place: Folder) -> None:
    dataset = Dataset(place)
    first = publish(dataset, {0: b"a0", 1: b"a1"})
    second = publish(dataset, {1: b"b1"})
    assert second.file_of(0) == first.file_of(0)
    assert second.file_of(1) != first.file_of(1)
    assert content_of(dataset, second) == {0: b"a0", 1: b"b1"}
    assert content_of(dataset, dataset.snapshot(1)) == {0: b"a0", 1: b"a1"}


def test_a_bucket_that_lost_its_last_row_has_no_file(place: Folder) -> None:
    first = publish(Dataset(place), {0: b"a0", 1: b"a1"})
    assert first.replacing([], [0]) == [first.files[1]]


def test_a_shared_file_lives_as_long_as_a_kept_snapshot_names_it(place: Folder) -> None:
    dataset = Dataset(place)
    first = publish(dataset, {0: b"old", 1: b"shared"}, keep=2)
    publish(dataset, {0: b"newer"}, keep=2)
    third = publish(dataset, {0: b"newest"}, keep=2)
    assert dataset.timeline().numbers == (2, 3)
    assert place.read(first.files[0].path) is None
    assert place.read(first.files[1].path) == b"shared"
    assert place.read("snapshots/000001/manifest.json") is None
    assert set(place.files()) == named_files(dataset)
    publish(dataset, {1: b"replaced"}, keep=1)
    assert place.read(first.files[1].path) is None
    assert place.read(third.files[0].path) == b"newest"
    assert set(place.files()) == named_files(dataset)
    assert place.names("snapshots") == ["000003", "000004"]


def test_roll_back_and_forth(place: Folder) -> None:
    dataset = Dataset(place)
    for text in (b"1", b"2", b"3"):
        publish(dataset, {0: text})
    with writing(dataset) as transaction:
        assert transaction.roll_back(1).number == 1
    assert content_of(dataset, dataset.current()) == {0: b"1"}
    assert dataset.timeline().numbers == (2, 3, 1)
    with writing(dataset) as transaction:
        transaction.roll_back(3)
    assert content_of(dataset, dataset.current()) == {0: b"3"}


def test_what_a_state_contains_goes_on_to_the_next_and_back_with_a_rollback(
    place: Folder,
) -> None:
    dataset = Dataset(place)

    def apply(*names: str) -> Snapshot:
        with writing(dataset) as transaction:
            told = report()
            snapshot = transaction.publish(
                [], told, buckets=BUCKETS, keep=9, notes={"own": list(names)}, applying=names
            )
        assert told.details.get("contains", []) == sorted(snapshot.applied)
        assert snapshot.notes["own"] == list(names)
        return snapshot

    assert apply().applied == {}
    assert apply("s1").applied == {"s1": 2}
    assert apply().applied == {"s1": 2}
    assert apply("s3", "s2").applied == {"s1": 2, "s2": 4, "s3": 4}
    assert apply("s1").applied == {"s1": 5, "s2": 4, "s3": 4}
    with writing(dataset) as transaction:
        assert transaction.roll_back(3).applied == {"s1": 2}
    assert apply("s4").applied == {"s1": 2, "s4": 6}
    assert dataset.require_current().applied == {"s1": 2, "s4": 6}


def test_roll_back_to_what_is_not_kept(place: Folder) -> None:
    dataset = Dataset(place)
    with writing(dataset) as transaction, pytest.raises(NoSnapshot, match="kept: none"):
        transaction.roll_back(1)
    for text in (b"1", b"2"):
        publish(dataset, {0: text}, keep=1)
    with writing(dataset) as transaction, pytest.raises(NoSnapshot, match=r"no snapshot 1.*: 2\)"):
        transaction.roll_back(1)
    assert content_of(dataset, dataset.current()) == {0: b"2"}


def test_after_a_rollback_the_next_state_is_built_on_it_and_takes_a_new_number(
    place: Folder,
) -> None:
    dataset = Dataset(place)
    for text in (b"1", b"2", b"3"):
        publish(dataset, {0: text, 1: b"of " + text})
    with writing(dataset) as transaction:
        transaction.roll_back(1)
    fourth = publish(dataset, {0: b"4"}, keep=2)
    assert fourth.number == 4
    assert dataset.timeline().numbers == (1, 4)
    assert content_of(dataset, fourth) == {0: b"4", 1: b"of 1"}
    assert content_of(dataset, dataset.snapshot(1)) == {0: b"1", 1: b"of 1"}


def test_a_number_is_never_given_twice(place: Folder) -> None:
    dataset = Dataset(place)
    for text in (b"1", b"2", b"3"):
        publish(dataset, {0: text})
    with writing(dataset) as transaction:
        transaction.roll_back(2)
        assert transaction.keep_newest(1) == (1, 3)
    assert publish(dataset, {0: b"4"}).number == 4


def test_keep_newest(place: Folder) -> None:
    dataset = Dataset(place)
    for text in (b"1", b"2", b"3"):
        publish(dataset, {0: text})
    with writing(dataset) as transaction:
        assert transaction.keep_newest(5) == ()
        assert transaction.keep_newest(1) == (1, 2)
        assert transaction.swept == 6
    assert dataset.timeline().numbers == (3,)
    assert set(place.files()) == named_files(dataset)


def test_a_damaged_manifest_is_one_line(place: Folder) -> None:
    dataset = Dataset(place)
    publish(dataset, {0: b"1"})
    for damage in (b"{", b"{}", b"[]", b"\xff", b'{"files": [{}]}'):
        place.write("snapshots/000001/manifest.json", damage)
        with pytest.raises(StorageError, match=r"manifest.json is damaged"):
            dataset.current()


def test_a_damaged_pointer_never_makes_a_writer_sweep(place: Folder) -> None:
    dataset = Dataset(place)
    publish(dataset, {0: b"1"})
    publish(dataset, {0: b"2"})
    before = place.files("snapshots")
    for empty in ("CURRENT", "CURRENT.previous"):
        place.write(empty, b"")
    with pytest.raises(StorageError, match="damaged"):
        publish(dataset, {0: b"3"})
    assert place.files("snapshots") == before


def test_a_robbed_writer_publishes_nothing_and_spoils_nothing(place: Folder) -> None:
    """Its lock was forced away while it ran; the thief published the same number."""
    dataset = Dataset(place)
    publish(dataset, {0: b"1"})
    with pytest.raises(Locked, match="nothing was published"), writing(dataset) as robbed:
        mine = write_bucket(robbed, 0, b"robbed")
        with writing(dataset, force=True) as thief:
            thief.scratch.write("between", b"thief's")
            stolen = thief.publish(
                [write_bucket(thief, 0, b"thief")], report("thief"), buckets=BUCKETS, keep=3
            )
        robbed.publish([mine], report("robbed"), buckets=BUCKETS, keep=3)
    assert stolen.number == 2
    assert dataset.current() == stolen
    assert content_of(dataset, stolen) == {0: b"thief"}
    assert dataset.report(2)["phase"] == "thief"


def test_a_robbed_writer_leaves_the_thiefs_scratch_alone(place: Folder) -> None:
    dataset = Dataset(place)
    first = dataset.writing("first", ManualClock(NOW), stale_after_ms=60_000, heartbeat_s=3600)
    robbed = first.__enter__()
    robbed.scratch.write("between", b"robbed")
    with writing(dataset, force=True) as thief:
        thief.scratch.write("between", b"thief's")
        first.__exit__(None, None, None)
        assert thief.scratch.read("between") == b"thief's"
        thief.lock.verify()


def test_two_writers_at_once(place: Folder) -> None:
    dataset = Dataset(place)
    with writing(dataset), pytest.raises(Locked), writing(dataset):
        pass
    publish(dataset, {0: b"1"})


Step = Callable[[Dataset], object]


def _roll_back(dataset: Dataset) -> None:
    with writing(dataset) as transaction:
        transaction.roll_back(2)


def _forget(dataset: Dataset) -> None:
    with writing(dataset) as transaction:
        transaction.keep_newest(1)


@pytest.mark.parametrize(
    ("before", "step", "after"),
    [
        (0, lambda dataset: publish(dataset, {0: b"new"}), {0: b"new"}),
        (3, lambda dataset: publish(dataset, {0: b"new"}, keep=2), {0: b"new", 1: b"shared"}),
        (3, _roll_back, {0: b"2", 1: b"shared"}),
        (3, _forget, {0: b"3", 1: b"shared"}),
    ],
    ids=["first", "publish", "roll back", "forget"],
)
@pytest.mark.parametrize("place", ["file", "memory"], indirect=True)  # where a write can tear
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_crash_at_any_change_leaves_the_former_or_the_new_state(
    place: Folder,
    lives: Lives,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
    step: Step,
    after: dict[int, bytes],
    share: float,
) -> None:
    at = 0
    finished = False
    former = Dataset(place.child("former"))
    for number in range(1, before + 1):
        publish(former, {0: b"%d" % number, **({1: b"shared"} if number == 1 else {})})
    old = content_of(former, former.current())
    files = {name: former.folder.read(name) or b"" for name in former.folder.files()}
    while not finished:
        at += 1
        dataset = Dataset(place.child(str(at)))
        for name, data in files.items():
            dataset.folder.write(name, data)
        with crashing(monkeypatch, at, share) as fuse:
            try:
                step(dataset)
                finished = not fuse.burnt
            except Crash:
                pass
        lives.end()

        survivor = Dataset(place.child(str(at)))
        seen = content_of(survivor, survivor.current())
        assert seen in ((after,) if finished else (old, after))
        for number in survivor.timeline().numbers:
            assert None not in content_of(survivor, survivor.snapshot(number)).values()

        taken = survivor.timeline().next_number
        following = publish(survivor, {2: b"following"})
        assert following.number == taken
        assert content_of(survivor, survivor.current()) == {**seen, 2: b"following"}
        assert set(survivor.folder.files()) <= named_files(survivor)
        assert named_files(survivor) - set(survivor.folder.files()) <= {"CURRENT.previous"}
        survivor.folder.delete("")
    assert at > 5


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("publish"), st.integers(1, 3), st.integers(0, BUCKETS - 1)),
            st.tuples(st.just("roll back"), st.integers(1, 12), st.just(0)),
            st.tuples(st.just("keep"), st.integers(1, 3), st.just(0)),
            st.tuples(st.just("crash"), st.integers(1, 14), st.integers(0, BUCKETS - 1)),
        ),
        max_size=10,
    )
)
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_any_history_against_a_plain_model(
    lives: Lives, monkeypatch: pytest.MonkeyPatch, history: list[tuple[str, int, int]]
) -> None:
    place = Folder(f"memory://{attempt_name('history')}")
    dataset = Dataset(place)
    states: dict[int, dict[int, bytes]] = {}
    kept: list[int] = []
    for step, (kind, argument, bucket) in enumerate(history):
        text = b"%d" % step
        if kind == "publish":
            number = publish(dataset, {bucket: text}, keep=argument).number
            assert number not in states
            states[number] = {**(states[kept[-1]] if kept else {}), bucket: text}
            kept = [*kept, number][-argument:]
        elif kind == "roll back" and argument in kept:
            with writing(dataset) as transaction:
                transaction.roll_back(argument)
            kept = [*(number for number in kept if number != argument), argument]
        elif kind == "keep":
            with writing(dataset) as transaction:
                transaction.keep_newest(argument)
            kept = kept[-argument:]
        elif kind == "crash":
            with crashing(monkeypatch, argument, 0.5) as fuse:
                try:
                    publish(dataset, {bucket: text}, keep=3)
                except Crash:
                    assert fuse.burnt
            lives.end()
            now = list(dataset.timeline().numbers)
            if now != kept:  # it got as far as its publication
                states[now[-1]] = {**(states[kept[-1]] if kept else {}), bucket: text}
                kept = [*kept, now[-1]][-3:]
        assert list(dataset.timeline().numbers) == kept
        for number in kept:
            assert content_of(dataset, dataset.snapshot(number)) == states[number]
    place.delete("")
