"""What an S3 server and a bad line to it do to files: nothing is lost, nothing is wrong."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from crawl.errors import StorageError
from crawl.storage import object_store
from crawl.storage.chunks import Chunk, ChunkLog, Piece
from crawl.storage.folder import Folder
from crawl.storage.lock import acquire
from crawl.storage.pointer import Pointer
from crawl.storage.snapshot import BucketFile, Dataset
from crawl.testing import faulty_proxy
from crawl.testing.clock import ManualClock
from crawl.testing.faulty_proxy import Asked, Fault, FaultyProxy, Seeded
from tests.storage.s3_server import S3Server

pytestmark = pytest.mark.cluster

MIB = 1 << 20
NOW = 1_800_000_000_000


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """All requests of this process to the store go through it."""
    # the pauses between attempts have no part in what is shown here
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01
    )
    with faulty_proxy.running(s3.host, s3.port) as found:
        for name, value in s3.variables(found.address).items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def folder(s3: S3Server, proxy: FaultyProxy) -> Folder:
    return Folder(s3.new_bucket()).child("place")


def bucket_of(folder: Folder) -> str:
    return "/".join(folder.address.split("/")[:3])


class Once:
    """The first request that the method and a part of the path fit meets the fault."""

    def __init__(self, fault: Fault, method: str, part: str) -> None:
        self.fault, self.method, self.part = fault, method, part
        self.left = 1

    def __call__(self, asked: Asked) -> Fault | None:
        if self.left and asked.method == self.method and self.part in asked.path:
            self.left -= 1
            return self.fault
        return None


@pytest.mark.parametrize("fault", list(faulty_proxy.PASSING))
@pytest.mark.parametrize("method", ["PUT", "GET", "HEAD", "DELETE"])
def test_any_request_survives_any_passing_fault(
    folder: Folder, proxy: FaultyProxy, fault: Fault, method: str
) -> None:
    folder.write("before", b"0" * 1000)
    proxy.plan = Once(fault, method, "/place/")
    assert folder.create("new", b"1" * 1000) is True
    assert folder.create("new", b"1" * 1000) is False
    folder.write("file", b"2" * 1000)
    assert folder.read("file") == b"2" * 1000
    assert folder.size("file") == 1000
    with folder.open_read("new") as stream:
        assert stream.read() == b"1" * 1000
    folder.delete("before")
    folder.delete("before")
    assert folder.files() == {"new": 1000, "file": 1000}
    assert proxy.faults == {fault: 1}


@pytest.mark.parametrize("fault", list(faulty_proxy.PASSING))
@pytest.mark.parametrize(
    ("method", "part"),
    [("POST", "?uploads"), ("PUT", "partNumber=2"), ("POST", "uploadId=")],
    ids=["begin", "part", "end"],
)
def test_a_large_upload_survives_a_fault_in_any_of_its_steps(
    s3: S3Server, folder: Folder, proxy: FaultyProxy, fault: Fault, method: str, part: str
) -> None:
    proxy.plan = Once(fault, method, part)
    block = bytes(range(256)) * (MIB // 256)
    with folder.open_write("large") as stream:
        for _ in range(18):
            stream.write(block)
    assert proxy.faults == {fault: 1}
    assert folder.size("large") == 18 * MIB
    with folder.open_read("large") as stream:
        stream.seek(17 * MIB + 3)
        assert stream.read() == block[3:]
    folder.drop_uploads()
    assert s3.uploads(bucket_of(folder)) == []


def test_one_of_many_wins_through_faults(folder: Folder, proxy: FaultyProxy) -> None:
    """A lost answer is not taken for another's success, nor another's for ours."""
    proxy.plan = Seeded(7, 0.25)
    for number in range(6):
        won: list[int] = []

        def run(racer: int, number: int, won: list[int]) -> None:
            if folder.create(f"lock-{number}", b"the same bytes"):
                won.append(racer)

        racers = [threading.Thread(target=run, args=(n, number, won)) for n in range(6)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert len(won) == 1
    assert sum(proxy.faults.values()) > 5


def test_marks_locks_and_pointers_through_faults(folder: Folder, proxy: FaultyProxy) -> None:
    proxy.plan = Seeded(11, 0.2)
    clock = ManualClock(NOW)
    pointer = Pointer(folder, "CURRENT")
    log = ChunkLog(folder, 0)
    assert log.claim(NOW) is None
    for number in range(8):
        lock = acquire(folder, "test", clock, stale_after_ms=1e9)
        assert lock.took_over is None
        lock.show_life()
        pointer.write({"number": number})
        assert pointer.read() == {"number": number}
        lock.release()
        log.commit(Chunk({"content": Piece(f"{number}", number, 0)}, {}))
    found = ChunkLog(folder, 0).committed()
    assert [chunk.pieces["content"].rows for chunk in found] == list(range(8))
    assert sum(proxy.faults.values()) > 10


def test_a_fault_in_the_writer_leaves_no_file_and_no_parts(s3: S3Server, folder: Folder) -> None:
    for size in (1, 18):
        with pytest.raises(ZeroDivisionError), folder.open_write("file") as stream:
            for _ in range(size):
                stream.write(b"x" * MIB)
            raise ZeroDivisionError
    assert folder.files() == {}
    assert s3.uploads(bucket_of(folder)) == []


def test_many_files_are_deleted_at_once(folder: Folder, proxy: FaultyProxy) -> None:
    for number in range(30):
        folder.write(f"tree/{number}", b"")
    folder.write("tree2", b"")
    before = len(proxy.asked)
    folder.delete("tree")
    assert sorted(folder.files()) == ["tree2"]
    assert len(proxy.asked) - before < 15


def test_a_folder_marked_by_an_empty_object_is_no_file(folder: Folder) -> None:
    folder.write("marked/", b"")
    folder.write("marked/file", b"1")
    marked = folder.child("marked")
    assert marked.names() == ["file"]
    assert marked.files() == {"file": 1}


def test_what_another_writes_is_seen_at_once(folder: Folder) -> None:
    assert folder.names() == []
    _in_child("Folder(sys.argv[1]).write('theirs', b'1')", folder)
    assert folder.names() == ["theirs"]
    assert folder.files() == {"theirs": 1}
    _in_child("Folder(sys.argv[1]).write('theirs', b'22')", folder)
    assert folder.size("theirs") == 2
    _in_child("Folder(sys.argv[1]).delete('theirs')", folder)
    assert not folder.exists("theirs")
    assert folder.names() == []


FORKING = """
folder = Folder(sys.argv[1])
folder.write("parent", b"1")
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        folder.write(f"child-{number}", folder.read("parent"))
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
folder.write("parent", b"2")
assert folder.names() == ["child-0", "child-1", "child-2", "parent"], folder.names()
"""


def test_a_forked_process_has_a_client_of_its_own(folder: Folder) -> None:
    _in_child(FORKING, folder)
    assert folder.read("child-2") == b"1"
    assert folder.read("parent") == b"2"


WRITER = """
from crawl.clock import SystemClock
from crawl.storage.snapshot import Dataset
dataset = Dataset(Folder(sys.argv[1]))
with dataset.writing("victim", SystemClock(), stale_after_ms=1e9, heartbeat_s=3600) as writing:
    with writing.folder.open_write(f"{writing.place}/part-00000-new.parquet") as stream:
        for _ in range(20):
            stream.write(b"x" * (1 << 20))
        print("half way", flush=True)
        sys.stdin.readline()
"""


def test_a_writer_killed_in_mid_upload_loses_nothing(s3: S3Server, folder: Folder) -> None:
    dataset = Dataset(folder)
    _publish(dataset, b"old")
    victim = subprocess.Popen(
        [sys.executable, "-c", _HEAD + WRITER, folder.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert victim.stdout is not None
        assert select.select([victim.stdout], [], [], 120)[0]
        assert victim.stdout.readline() == b"half way\n"
        assert len(s3.uploads(bucket_of(folder))) == 1
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    assert _content(dataset) == b"old"
    assert len(s3.uploads(bucket_of(folder))) == 1
    took_over = _publish(dataset, b"new")
    assert took_over is not None
    assert "no longer runs" in took_over
    assert _content(dataset) == b"new"
    assert s3.uploads(bucket_of(folder)) == []
    assert not [name for name in folder.files() if "LOCK" in name]


def _publish(dataset: Dataset, data: bytes) -> str | None:
    from crawl.clock import SystemClock
    from crawl.model.report import Report

    clock = SystemClock()
    with dataset.writing("test", clock, stale_after_ms=1e9, heartbeat_s=3600) as writing:
        path = f"{writing.place}/part-00000-{data.decode()}.parquet"
        with writing.folder.open_write(path) as stream:
            stream.write(data)
        files = [BucketFile(0, path, 1, len(data))]
        writing.publish(files, Report("test", NOW, ""), buckets=1, keep=2)
        return writing.lock.took_over


def _content(dataset: Dataset) -> bytes | None:
    (file,) = dataset.require_current().files
    return dataset.folder.read(file.path)


_HEAD = "import os, sys\nfrom crawl.storage.folder import Folder\n"


def _in_child(code: str, folder: Folder) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + code, folder.address],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def _told(call: Any) -> str:
    with pytest.raises(StorageError) as found:
        call()
    line = str(found.value)
    assert "\n" not in line
    return line


def _each_call(folder: Folder) -> list[Any]:
    return [
        lambda: folder.read("x"),
        lambda: folder.write("x", b""),
        lambda: folder.create("x", b""),
        lambda: folder.delete("x"),
        lambda: folder.names(),
        lambda: folder.files(),
        lambda: folder.size("x"),
        lambda: folder.exists("x"),
        lambda: folder.open_read("x").__enter__(),
        lambda: _write_one(folder),
    ]


def _write_one(folder: Folder) -> None:
    with folder.open_write("x") as stream:
        stream.write(b"1")


def test_a_wrong_bucket_is_one_line_and_is_not_created(proxy: FaultyProxy) -> None:
    folder = Folder("s3://no-such-bucket-here/crawl")
    for call in _each_call(folder):
        assert "there is no such bucket" in _told(call)
    assert "there is no such bucket" in _told(lambda: folder.read("x"))


def test_no_permission_is_one_line(folder: Folder, proxy: FaultyProxy) -> None:
    proxy.plan = lambda asked: Fault.DENIED
    for call in _each_call(folder):
        assert "permission denied" in _told(call)
    assert folder.drop_uploads() == 0


def test_no_credentials_is_one_line(
    folder: Folder, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for call in _each_call(folder):
        assert "no credentials: set AWS_ACCESS_KEY_ID" in _told(call)


def test_an_overloaded_store_is_one_line(folder: Folder, proxy: FaultyProxy) -> None:
    proxy.plan = lambda asked: Fault.SLOW_DOWN
    assert "too busy" in _told(lambda: folder.read("x"))


def test_an_unreachable_store_is_one_line(
    folder: Folder, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # nobody listens on the port of a proxy that has ended
    with faulty_proxy.running("127.0.0.1", 1) as gone:
        pass
    monkeypatch.setenv("AWS_ENDPOINT_URL", gone.address)
    for call in _each_call(folder):
        assert f"cannot reach the store at {gone.address}" in _told(call)


def test_a_missing_connector_is_one_line() -> None:
    code = """
sys.modules["s3fs"] = None
from crawl.errors import StorageError
try:
    Folder("s3://bucket/crawl").read("x")
except StorageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ},
    )
    expected = "the connector for s3:// is not installed: pip install 'nutria[s3]'"
    assert done.stdout == f"s3://bucket/crawl/x: {expected}\n"


def test_other_faults_are_not_ours_to_tell() -> None:
    assert object_store.told(ValueError("x")) is None
    assert object_store.told(FileNotFoundError("x")) is None


class Busy:
    """A store where another's request for the same name is under way, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.asked = 0

    def pipe_file(self, path: str, data: bytes, **options: Any) -> None:
        self.asked += 1
        if self.asked <= self.times:
            error = OSError(5, "conflict")
            error.__cause__ = _answered("ConditionalRequestConflict")
            raise error


def _answered(code: str) -> Exception:
    error = Exception(code)
    error.response = {"Error": {"Code": code}}  # type: ignore[attr-defined]
    return error


def test_a_conflict_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "_CONFLICT_PAUSE_S", 0.0)
    store = Busy(3)
    assert object_store.create(store, "bucket/x", b"") is True
    assert store.asked == 4
    assert object_store.create(Busy(100), "bucket/x", b"") is False


class Reluctant:
    """A store that deletes only some of many at once, and does not say so."""

    def __init__(self, files: int, a_time: int) -> None:
        self.files = [f"bucket/tree/{number}" for number in range(files)]
        self.a_time = a_time

    def info(self, path: str) -> dict[str, str]:
        return {"type": "directory"}

    def find(self, path: str) -> list[str]:
        return list(self.files)

    def rm(self, path: str, recursive: bool) -> None:
        del self.files[: self.a_time]

    def rm_file(self, path: str) -> None:
        self.files.remove(path)


def test_what_a_store_silently_kept_is_deleted_too() -> None:
    store = Reluctant(50, 20)
    object_store.delete(store, "bucket/tree", lambda path: False)
    assert store.files == []
    with pytest.raises(OSError, match="does not delete"):
        object_store.delete(Reluctant(50, 0), "bucket/tree", lambda path: False)


def test_settings_of_the_user_go_before_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    assert object_store.options_of("file") == {}
    usual = object_store.options_of("s3")
    assert usual["use_listings_cache"] is False
    assert usual["config_kwargs"]["retries"]["mode"] == "standard"
    assert "endpoint_url" not in usual
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://general")
    assert "retries" not in object_store.options_of("s3")["config_kwargs"]
    assert object_store.options_of("s3a")["endpoint_url"] == "http://general"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://special")
    assert object_store.options_of("s3")["endpoint_url"] == "http://special"
