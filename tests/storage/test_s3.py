"""What an S3 server and a bad line to it do to files: nothing is lost, nothing is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest

from crawl.errors import DamagedFile
from crawl.storage.filesystems.object_store import READ_BLOCK
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_table, open_writer
from crawl.telemetry.costs import cost_account
from tests.storage import faulty_proxy
from tests.storage.faulty_proxy import Fault, FaultyProxy, ProxiedRequest, SeededFaults
from tests.storage.remote_contract import RemoteFilesContract
from tests.storage.remote_files import MIB, each_call, error_line
from tests.storage.s3_server import S3Server, proxied

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=60)]


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    with proxied(s3, monkeypatch) as found:
        yield found


@pytest.fixture
def folder(s3: S3Server, proxy: FaultyProxy) -> Folder:
    return Folder(s3.new_bucket()).child("place")


def bucket_of(folder: Folder) -> str:
    return "/".join(folder.address.split("/")[:3])


@dataclass(frozen=True)
class Bucket:
    """A folder, all of whose requests meet faults when there are to be any."""

    server: S3Server
    proxy: FaultyProxy
    folder: Folder

    @property
    def behind(self) -> Folder:
        return self.folder

    def trouble(self) -> None:
        self.proxy.plan = SeededFaults(7, 0.25)

    def troubles(self) -> int:
        return sum(self.proxy.faults.values())

    def unfinished(self) -> list[str]:
        return self.server.uploads(bucket_of(self.folder))


class TestFiles(RemoteFilesContract):
    connector = "s3fs"
    scheme = "s3"
    races = 6
    turns = 8

    @pytest.fixture(params=[True, False])
    def alike(self, request: pytest.FixtureRequest) -> bool:
        return bool(request.param)

    @pytest.fixture
    def remote(self, s3: S3Server, proxy: FaultyProxy, folder: Folder) -> Bucket:
        return Bucket(s3, proxy, folder)


class Once:
    """The first request that the method and a part of the path fit meets the fault."""

    def __init__(self, fault: Fault, method: str, part: str) -> None:
        self.fault, self.method, self.part = fault, method, part
        self.left = 1

    def __call__(self, request: ProxiedRequest) -> Fault | None:
        if self.left and request.method == self.method and self.part in request.path:
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


def test_many_files_are_deleted_at_once(folder: Folder, proxy: FaultyProxy) -> None:
    for number in range(30):
        folder.write(f"tree/{number}", b"")
    folder.write("tree2", b"")
    before = len(proxy.requests)
    folder.delete("tree")
    assert sorted(folder.files()) == ["tree2"]
    assert len(proxy.requests) - before < 15


def test_a_sweep_is_one_request(folder: Folder, proxy: FaultyProxy) -> None:
    """Files of a snapshot that is forgotten, whose names are known: nobody has to look."""
    names = [f"snapshots/{number}" for number in range(30)]
    for name in names:
        folder.write(name, b"")
    folder.write("kept", b"")
    before = len(proxy.requests)
    with cost_account() as account:
        folder.delete_files([*names, "never there"])
    assert len(proxy.requests) - before == account.total.requests == 1
    assert sorted(folder.files()) == ["kept"]


def test_a_folder_marked_by_an_empty_object_is_no_file(folder: Folder) -> None:
    folder.write("marked/", b"")
    folder.write("marked/file", b"1")
    marked = folder.child("marked")
    assert marked.names() == ["file"]
    assert marked.files() == {"file": 1}


def test_a_wrong_bucket_is_one_line_and_is_not_created(proxy: FaultyProxy) -> None:
    folder = Folder("s3://no-such-bucket-here/crawl")
    for call in each_call(folder):
        assert "there is no such bucket" in error_line(call)
    assert "there is no such bucket" in error_line(lambda: folder.read("x"))


def test_no_permission_is_one_line(folder: Folder, proxy: FaultyProxy) -> None:
    proxy.plan = lambda request: Fault.DENIED
    for call in each_call(folder):
        assert "permission denied" in error_line(call)
    assert folder.drop_uploads() == 0


def test_no_credentials_is_one_line(
    folder: Folder, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for call in each_call(folder):
        assert "no credentials: set AWS_ACCESS_KEY_ID" in error_line(call)


def test_an_overloaded_store_is_one_line(folder: Folder, proxy: FaultyProxy) -> None:
    proxy.plan = lambda request: Fault.SLOW_DOWN
    assert "too busy" in error_line(lambda: folder.read("x"))


def test_an_unreachable_store_is_one_line(
    folder: Folder, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # nobody listens on the port of a proxy that has ended
    with faulty_proxy.running("127.0.0.1", 1) as gone:
        pass
    monkeypatch.setenv("AWS_ENDPOINT_URL", gone.address)
    for call in each_call(folder):
        assert f"cannot reach the store at {gone.address}" in error_line(call)


def test_counted_requests_are_those_that_the_store_sees(folder: Folder, proxy: FaultyProxy) -> None:
    seen: list[str] = []

    def look(request: ProxiedRequest) -> Fault | None:
        seen.append(request.method)
        return None

    proxy.plan = look
    with cost_account() as account:
        folder.write("small", b"x" * 1000)
        assert len(folder.read("small") or b"") == 1000
        with folder.open_write("medium") as sink:
            sink.write(b"y" * MIB)
        with folder.open_write("large") as sink:
            for _ in range(40):
                sink.write(b"z" * MIB)
        with folder.open_read("large") as stream:
            stream.seek(39 * MIB)
            assert len(stream.read(10)) == 10
            stream.seek(0)
            assert len(stream.read(10)) == 10
        assert folder.size("small") == 1000
        with folder.open_read("medium", size=MIB) as stream:  # nobody asks how large it is
            assert stream.read() == b"y" * MIB
    assert Counter(seen)["HEAD"] == 2
    total = account.total
    assert total.requests == len(seen), seen
    assert total.bytes_written == 1000 + MIB + 40 * MIB
    # ten bytes, and what is read ahead: to the end of the file, and a block
    assert total.bytes_read == 1000 + MIB + 10 + READ_BLOCK + MIB


def test_a_table_of_a_known_size_that_is_missing_or_cut_is_damaged(folder: Folder) -> None:
    rows = pa.table({"n": list(range(100_000))})
    with open_writer(folder, "table", rows.schema) as writer:
        writer.write(rows)
    with open_table(folder, "table", size=writer.bytes) as source:
        assert source.read().equals(rows)
    with pytest.raises(DamagedFile, match="gone is damaged: it is missing"):
        open_table(folder, "gone", size=writer.bytes).__enter__()
    folder.write("table", (folder.read("table") or b"")[:-100])
    with pytest.raises(DamagedFile, match="table is damaged: it is no whole Parquet"):
        open_table(folder, "table", size=writer.bytes).__enter__()
