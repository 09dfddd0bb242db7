from __future__ import annotations

import os
import pickle
import stat
import threading
from pathlib import Path

import pytest

from crawl.errors import Locked, StorageError
from crawl.storage.filesystems import local_files
from crawl.storage.folder import Folder, attempt_name, split_address


def test_what_is_written_is_read(place: Folder) -> None:
    place.write("a/b.txt", b"one")
    assert place.read("a/b.txt") == b"one"
    place.write("a/b.txt", b"2")
    assert place.read("a/b.txt") == b"2"
    assert place.size("a/b.txt") == 1
    assert place.child("a").read("b.txt") == b"2"


def test_what_is_not_there(place: Folder) -> None:
    assert place.read("a") is None
    assert place.size("a") is None
    assert not place.exists("a")
    assert place.names() == []
    assert place.files() == {}
    place.delete("a")
    with pytest.raises(StorageError, match="no such file"), place.open_read("a"):
        pass


def test_streams(place: Folder) -> None:
    with place.open_write("deep/down/file") as stream:
        stream.write(b"ab")
        stream.write(b"cd")
    with place.open_read("deep/down/file") as stream:
        assert stream.read() == b"abcd"


def test_what_is_to_last_is_on_the_disk_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut cannot be tried, but that the disk is waited for when all is written can."""
    settled: list[int] = []
    folders: list[int] = []

    def fsync(file: int) -> None:
        found = os.fstat(file)
        (folders if stat.S_ISDIR(found.st_mode) else settled).append(found.st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    place = Folder(str(tmp_path))
    place.write("a", b"12")
    place.create("b", b"123")
    with place.open_write("c") as stream:
        stream.write(b"1234")
    assert settled == [2, 3, 4]
    assert len(folders) == 2, "that the name is there is to last too"
    with place.open_write("d", lasting=False) as stream:
        stream.write(b"12345")
    assert settled == [2, 3, 4]


def test_what_a_writer_died_in_is_no_file(tmp_path: Path) -> None:
    place = Folder(str(tmp_path))
    place.write("a/b", b"whole")
    Path(local_files.unfinished(place.path("a/b"))).write_bytes(b"ha")
    assert place.files() == {"a/b": 5}
    assert place.names("a") == ["b"]
    assert place.drop_uploads() == 1
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_a_write_that_fails_leaves_the_former_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Folder(str(tmp_path))
    place.write("a", b"former")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            place.write("a", b"latter")
        with pytest.raises(StorageError, match="No space left"):
            place.create("b", b"new")
    assert place.read("a") == b"former"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_whole_file_has_no_name_before_its_end(place: Folder) -> None:
    place.write("deep/file", b"old")
    with place.open_write("deep/file", whole=True) as stream:
        stream.write(b"new")
        if place.is_local():
            stream.flush()
            assert place.read("deep/file") == b"old"
            assert place.names("deep") == ["file"]
    assert place.read("deep/file") == b"new"
    with place.open_write("file", whole=True) as stream:
        stream.write(b"1")
    assert place.files() == {"deep/file": 3, "file": 1}


def test_a_whole_file_that_fails_leaves_the_former_one(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    folder.write("file", b"old")
    with (
        pytest.raises(StorageError, match="Disk quota"),
        folder.open_write("file", whole=True) as stream,
    ):
        stream.write(b"half")
        raise OSError("Disk quota exceeded")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


def test_names_and_files(place: Folder) -> None:
    for name in ("z", "b/one", "b/deep/two", "bb"):
        place.write(name, b"x" * len(name))
    assert place.names() == ["b", "bb", "z"]
    assert place.files() == {"z": 1, "b/one": 5, "b/deep/two": 10, "bb": 2}
    assert place.files("b") == {"one": 5, "deep/two": 10}
    assert place.size("b") is None
    assert place.exists("b")


def test_delete_takes_a_file_or_a_tree_and_nothing_else(place: Folder) -> None:
    for name in ("b", "bb", "t/one", "t/deep/two", "tt/three"):
        place.write(name, b"")
    place.delete("b")
    place.delete("t")
    assert sorted(place.files()) == ["bb", "tt/three"]


def test_files_are_deleted_together_and_nothing_else(place: Folder) -> None:
    for name in ("b", "bb", "t/one", "t/two", "a[1]", "a1"):
        place.write(name, b"")
    place.delete_files([])
    place.delete_files(["b", "t/one", "never/there"])
    place.delete_files(["a[1]", "b"])
    assert sorted(place.files()) == ["a1", "bb", "t/two"]


@pytest.mark.parametrize("odd", ["a[1]", "a*", "a?", "a b", "ä", "a#1", "a%20"])
def test_names_are_no_patterns(place: Folder, odd: str) -> None:
    for name in (odd, "a1", "ab", f"{odd}.d/{odd}", "a1.d/kept"):
        place.write(name, b"")
    assert place.create(f"{odd}.d/new", b"") is True
    place.delete(odd)
    place.delete(f"{odd}.d")
    assert sorted(place.files()) == ["a1", "a1.d/kept", "ab"]
    inside = place.child(f"{odd}.e")
    inside.write("one", b"")
    inside.delete("one")
    assert inside.files() == {}


def test_create_never_replaces(place: Folder) -> None:
    assert place.create("lock", b"first") is True
    assert place.create("lock", b"second") is False
    assert place.read("lock") == b"first"


def test_create_lets_one_of_many_threads_win(place: Folder) -> None:
    for round_number in range(20):
        start = threading.Barrier(8)
        won: list[int] = []

        def run(number: int, name: str, start: threading.Barrier, won: list[int]) -> None:
            start.wait()
            if place.create(name, str(number).encode()):
                won.append(number)

        name = f"lock-{round_number}"
        threads = [
            threading.Thread(target=run, args=(number, name, start, won)) for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert place.read(name) == str(won[0]).encode()


def test_a_folder_is_a_value(place: Folder) -> None:
    place.write("x", b"1")
    travelled = pickle.loads(pickle.dumps(place))
    assert travelled == place
    assert travelled.read("x") == b"1"


def test_only_the_disk_is_local(tmp_path: Path) -> None:
    assert Folder(str(tmp_path)).is_local()
    assert Folder(f"file://{tmp_path}").is_local()
    assert not Folder("memory://x").is_local()


def test_a_file_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    inside = Folder(str(tmp_path / "file"))
    calls = (
        lambda: inside.read("x"),
        lambda: inside.write("x", b""),
        lambda: inside.create("x", b""),
        lambda: inside.size("x"),
    )
    for call in calls:
        with pytest.raises(StorageError) as raised:
            call()
        assert str(tmp_path / "file") in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_fault_within_keeps_its_own_message(place: Folder) -> None:
    """A block that reads or writes a file may fail for another one's sake."""
    place.write("here", b"1")
    with (
        pytest.raises(StorageError, match="gone: no such file"),
        place.open_read("here"),
        place.open_read("gone"),
    ):
        pass
    with pytest.raises(Locked, match="mine"), place.open_write("new"):
        raise Locked("mine") from PermissionError("x")


def test_an_unknown_file_system_is_one_line() -> None:
    with pytest.raises(StorageError, match="no file system for 'nope' .*known: .*file"):
        Folder("nope://x").read("y")


@pytest.mark.parametrize(
    "address", ["gs://b/c", "gcs://b/c", "abfs://b/c", "abfss://b/c", "az://b/c", "zip::s3://b/c"]
)
def test_a_store_on_which_no_lock_was_ever_tried_is_refused_in_one_line(address: str) -> None:
    """Also where its driver is installed: an older one overwrites a lock, and two get it."""
    with pytest.raises(StorageError) as refused:
        Folder(address).create("LOCK", b"")
    scheme = address.partition(":")[0]
    assert str(refused.value) == (
        f"{address}/LOCK: no file system for '{scheme}' (known: file, hdfs, s3, s3a, viewfs):"
        " a crawl can be on a local disk, on HDFS or in S3"
    )


@pytest.mark.parametrize(
    ("address", "name", "path"),
    [
        ("crawl", "x", "crawl/x"),
        ("crawl/", "x", "crawl/x"),
        ("/crawl", "x", "/crawl/x"),
        ("/", "x", "/x"),
        ("", "x", "x"),
        ("memory://", "x", "memory://x"),
        ("file:///", "x", "file:///x"),
        ("s3://bucket", "a/b", "s3://bucket/a/b"),
    ],
)
def test_paths_below(address: str, name: str, path: str) -> None:
    assert Folder(address).path(name) == path
    assert Folder(address).child(name) == Folder(path)


@pytest.mark.parametrize(
    ("address", "folder", "name"),
    [
        ("seeds.txt", ".", "seeds.txt"),
        ("seeds/", ".", "seeds"),
        ("a/b/seeds.txt", "a/b", "seeds.txt"),
        ("/seeds.txt", "/", "seeds.txt"),
        ("/", "/", ""),
        ("memory://seeds.txt", "memory://", "seeds.txt"),
        ("memory://a/seeds.txt", "memory://a", "seeds.txt"),
        ("file:///seeds.txt", "file:///", "seeds.txt"),
        ("s3://bucket", "s3://", "bucket"),
        ("s3://bucket/seeds/", "s3://bucket", "seeds"),
    ],
)
def test_locate(address: str, folder: str, name: str) -> None:
    assert split_address(address) == (Folder(folder), name)


def test_attempts_never_share_a_name() -> None:
    names = {attempt_name("part-00003") for _ in range(1000)}
    assert len(names) == 1000
    assert all(name.startswith("part-00003-") and name.endswith(".parquet") for name in names)
