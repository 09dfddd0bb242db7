"""What readers and writers do where a pointer or a manifest is damaged or gone."""

from __future__ import annotations

import logging

import pytest

from crawl.errors import DamagedFile, StorageError
from crawl.storage.folder import Folder
from crawl.storage.snapshot import Dataset
from crawl.testing.clock import ManualClock
from tests.storage.snapshots import NOW, content_of, publish, report, write_bucket, writing

DAMAGE = [None, b"", b"{}", b"garbled", b'{"next": 4, "snapshots": [1]}\n0123456789abcdef\n']


def three(place: Folder) -> Dataset:
    dataset = Dataset(place)
    for number in (1, 2, 3):
        publish(dataset, {0: b"%d" % number, **({1: b"shared"} if number == 1 else {})})
    return dataset


def harm(place: Folder, name: str, damage: bytes | None) -> None:
    if damage is None:
        place.delete(name)
    else:
        place.write(name, damage)


def harm_manifest(place: Folder, number: int) -> None:
    for name in ("manifest.json", "manifest.json.copy"):
        place.write(f"snapshots/{number:06d}/{name}", b"garbled")


@pytest.mark.parametrize("name", ["CURRENT", "CURRENT.copy"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_one_pointer_file_costs_nothing(
    place: Folder, name: str, damage: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = three(place)
    harm(place, name, damage)
    with caplog.at_level(logging.WARNING):
        assert content_of(dataset, dataset.current()) == {0: b"3", 1: b"shared"}
        dataset.current()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (1 if name == "CURRENT" else 0), "once, and only of the file itself"
    assert all("read from its copy" in line and "--repair" in line for line in messages)
    publish(dataset, {0: b"4"})
    assert content_of(dataset, dataset.current()) == {0: b"4", 1: b"shared"}
    assert dataset.timeline().numbers == (2, 3, 4)
    assert place.read("CURRENT") == place.read("CURRENT.copy")


@pytest.mark.parametrize("damage", DAMAGE)
def test_without_both_pointer_files_nothing_is_written_or_deleted(
    place: Folder, damage: bytes | None
) -> None:
    dataset = three(place)
    for name in ("CURRENT", "CURRENT.copy"):
        harm(place, name, damage)
    before = place.files()
    for call in (dataset.current, lambda: publish(dataset, {0: b"new"})):
        with pytest.raises(StorageError, match=r"there: 1, 2, 3.*crawl check CRAWL_DIR --repair"):
            call()
    assert place.files() == before


def test_a_copy_that_is_older_than_a_whole_snapshot_is_never_gone_on_from(place: Folder) -> None:
    """As former releases left it, and a death between the two writes does."""
    dataset = three(place)
    older = place.read("CURRENT.copy") or b""
    publish(dataset, {0: b"4"})
    place.write("CURRENT.copy", older)
    assert content_of(dataset, dataset.current()) == {0: b"4", 1: b"shared"}
    place.delete("CURRENT")
    before = place.files()
    for call in (dataset.current, lambda: publish(dataset, {0: b"new"})):
        with pytest.raises(StorageError, match=r"its copy is older.*there: 2, 3, 4"):
            call()
    assert place.files() == before


def test_a_first_writer_that_died_before_its_pointer_is_no_damage(place: Folder) -> None:
    dataset = Dataset(place)
    with pytest.raises(RuntimeError), writing(dataset) as transaction:
        write_bucket(transaction, 0, b"never published")
        raise RuntimeError
    assert dataset.current() is None
    publish(dataset, {0: b"1"})
    assert content_of(dataset, dataset.current()) == {0: b"1"}


def test_the_current_manifest_is_damaged(place: Folder) -> None:
    """Readers and writers stop; to roll back works, and a snapshot that is damaged itself is
    no way out."""
    dataset = three(place)
    harm_manifest(place, 3)
    before = place.files()
    for call in (dataset.current, lambda: publish(dataset, {0: b"new"})):
        with pytest.raises(DamagedFile, match=r"000003/manifest.json is damaged"):
            call()
    harm_manifest(place, 1)
    with dataset.writing(
        "rollback", ManualClock(NOW), stale_after_ms=1, heartbeat_s=9, damaged=True
    ) as transaction:
        with pytest.raises(DamagedFile):
            transaction.roll_back(1)
        assert transaction.roll_back(2).number == 2
    assert content_of(dataset, dataset.current()) == {0: b"2", 1: b"shared"}
    assert set(place.files()) == set(before), "what the damaged ones name is not swept"


def test_an_old_manifest_is_damaged(place: Folder) -> None:
    """Writers go on, and delete nothing that it may name until it is forgotten."""
    dataset = three(place)
    harm_manifest(place, 2)
    kept = {path for path in place.files() if not path.startswith("CURRENT")}
    place.write("snapshots/000003/part-00000-stray.parquet", b"of a dead task")
    publish(dataset, {0: b"4"}, keep=4)
    assert kept <= set(place.files())
    assert not place.exists("snapshots/000003/part-00000-stray.parquet")
    with writing(dataset) as transaction:
        assert transaction.keep_newest(2) == (1, 2)
    assert content_of(dataset, dataset.current()) == {0: b"4", 1: b"shared"}
    assert place.names("snapshots") == ["000001", "000003", "000004"]


def test_nobody_rolls_back_to_files_that_are_gone(place: Folder) -> None:
    dataset = three(place)
    (lost,) = [file for file in dataset.snapshot(2).files if file.bucket == 0]
    place.delete(lost.path)
    with writing(dataset) as transaction, pytest.raises(StorageError, match="not whole"):
        transaction.roll_back(2)
    assert dataset.require_current().number == 3


def test_a_manifest_of_another_number_is_damage(place: Folder) -> None:
    dataset = three(place)
    for name in ("manifest.json", "manifest.json.copy"):
        place.write(f"snapshots/000003/{name}", place.read(f"snapshots/000001/{name}") or b"")
    with pytest.raises(DamagedFile, match="that of snapshot 1"):
        dataset.current()


def test_a_damaged_report_is_as_good_as_none(
    place: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = three(place)
    assert dataset.report(3)["phase"] == report().phase
    for damage in (b"", b"{", b"[]", b"\xff"):
        place.write("snapshots/000003/report.json", damage)
        assert dataset.report(3) == {}
    assert "passed over" in caplog.text
