from __future__ import annotations

import pytest

from crawl.errors import Locked, NoSnapshot, StorageError
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.snapshot import Dataset
from crawl.testing.clock import ManualClock
from tests.storage.snapshots import (
    BUCKETS,
    NOW,
    content_of,
    named_files,
    publish,
    report,
    write_bucket,
    writing,
)


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
    assert published.files_of(2) == (file,)
    assert published.files_of(0) == ()
    assert again.report(1)["settings_digest"] == "digest"
    assert set(place.files()) == named_files(dataset)


def test_an_untouched_bucket_is_named_again_and_not_copied(place: Folder) -> None:
    dataset = Dataset(place)
    first = publish(dataset, {0: b"a0", 1: b"a1"})
    second = publish(dataset, {1: b"b1"})
    assert second.files_of(0) == first.files_of(0)
    assert second.files_of(1) != first.files_of(1)
    assert content_of(dataset, second) == {0: b"a0", 1: b"b1"}
    assert content_of(dataset, dataset.snapshot(1)) == {0: b"a0", 1: b"a1"}


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
            phase_report = report()
            snapshot = transaction.publish(
                [],
                phase_report,
                buckets=BUCKETS,
                keep=9,
                notes={"own": list(names)},
                applying=names,
            )
        assert phase_report.details.get("contains", []) == sorted(snapshot.applied)
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
        assert transaction.swept == 8
    assert dataset.timeline().numbers == (3,)
    assert set(place.files()) == named_files(dataset)


def test_a_damaged_manifest_is_one_line(place: Folder) -> None:
    dataset = Dataset(place)
    publish(dataset, {0: b"1"})
    whole = place.read("snapshots/000001/manifest.json") or b""
    for damage in (b"{", b"{}", b"[]", b"\xff", b'{"files": [{}]}'):
        place.write("snapshots/000001/manifest.json", damage)
        assert content_of(dataset, dataset.current()) == {0: b"1"}
        place.write("snapshots/000001/manifest.json.copy", damage)
        with pytest.raises(StorageError, match=r"manifest.json is damaged"):
            dataset.current()
        place.write("snapshots/000001/manifest.json.copy", whole)


def test_a_damaged_pointer_never_makes_a_writer_sweep(place: Folder) -> None:
    dataset = Dataset(place)
    publish(dataset, {0: b"1"})
    publish(dataset, {0: b"2"})
    before = place.files("snapshots")
    for empty in ("CURRENT", "CURRENT.copy"):
        place.write(empty, b"")
    with pytest.raises(StorageError, match="damaged"):
        publish(dataset, {0: b"3"})
    assert place.files("snapshots") == before


def test_a_robbed_writer_publishes_nothing_and_spoils_nothing(place: Folder) -> None:
    """Its lock was forced away while it ran; the thief leaves it its number."""
    dataset = Dataset(place)
    publish(dataset, {0: b"1"})
    with pytest.raises(Locked, match="nothing was published"), writing(dataset) as robbed:
        mine = write_bucket(robbed, 0, b"robbed")
        with writing(dataset, steal_lock=True) as thief:
            thief.scratch.write("between", b"thief's")
            stolen = thief.publish(
                [write_bucket(thief, 0, b"thief")], report("thief"), buckets=BUCKETS, keep=3
            )
        robbed.publish([mine], report("robbed"), buckets=BUCKETS, keep=3)
    assert (robbed.number, stolen.number) == (2, 3)
    assert dataset.current() == stolen
    assert content_of(dataset, stolen) == {0: b"thief"}
    assert dataset.report(3)["phase"] == "thief"


def test_a_robbed_writer_leaves_the_thiefs_scratch_alone(place: Folder) -> None:
    dataset = Dataset(place)
    first = dataset.writing("first", ManualClock(NOW), stale_after_ms=60_000, heartbeat_s=3600)
    robbed = first.__enter__()
    robbed.scratch.write("between", b"robbed")
    with writing(dataset, steal_lock=True) as thief:
        thief.scratch.write("between", b"thief's")
        first.__exit__(None, None, None)
        assert thief.scratch.read("between") == b"thief's"
        thief.lock.verify()


def test_two_writers_at_once(place: Folder) -> None:
    dataset = Dataset(place)
    with writing(dataset), pytest.raises(Locked), writing(dataset):
        pass
    publish(dataset, {0: b"1"})


def test_a_manifest_looks_as_ever_where_no_bucket_has_several_files(place: Folder) -> None:
    snapshot = publish(Dataset(place), {0: b"a0", 1: b"a1"})
    content = snapshot.as_dict()
    assert "format" not in content
    assert all(set(file) == {"bucket", "path", "rows", "bytes"} for file in content["files"])


def test_several_files_of_a_bucket_are_kept_in_order_and_told_to_older_releases(
    place: Folder,
) -> None:
    dataset = Dataset(place)
    with writing(dataset) as transaction:
        paths = [write_bucket(transaction, 0, name).path for name in (b"one", b"two", b"three")]
        files = [
            BucketFile(0, path, 1, 3, first)
            for path, first in zip(paths, ("m", None, "c"), strict=True)
        ]
        with pytest.raises(ValueError, match="the files of bucket 0 are in no order"):
            transaction.publish(files, report(), buckets=BUCKETS, keep=3)
        files[1] = BucketFile(1, paths[1], 1, 3, "alone")
        transaction.publish(files, report(), buckets=BUCKETS, keep=3)
    found = dataset.require_current()
    assert [file.first for file in found.files_of(0)] == ["c", "m"]
    assert [file.first for file in found.files_of(1)] == [None]
    assert [found.file_for(0, key) for key in ("a", "c", "l", "m")] == [
        found.files[0],
        found.files[0],
        found.files[0],
        found.files[1],
    ]
    content = found.as_dict()
    assert content["format"] == 2  # a key that no release before had: they refuse it
    assert Snapshot.of_dict(content) == found
    with pytest.raises(ValueError, match="later release"):
        Snapshot.of_dict({**content, "format": 3})
    with pytest.raises(ValueError, match="no order"):
        content["files"][1]["first"] = "b"
        content["files"][0]["first"] = "b"
        Snapshot.of_dict(content)
