"""What a cluster's nodes that die and a bad line to them do to files: nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from crawl.errors import StorageError
from crawl.storage.filesystems import hdfs_errors
from crawl.storage.filesystems.hdfs import HdfsFiles
from crawl.storage.folder import Folder
from crawl.storage.sealed_file import SealedFile
from tests.storage import cutting_proxy
from tests.storage.cutting_proxy import Cut, CuttingProxy
from tests.storage.hdfs_cluster import BLOCK, HdfsCluster, unfinished
from tests.storage.remote_contract import RemoteFilesContract
from tests.storage.remote_files import HEAD, MIB, each_call, error_line

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=150), pytest.mark.timeout(900)]


@pytest.fixture
def folder(hdfs: HdfsCluster, monkeypatch: pytest.MonkeyPatch) -> Folder:
    # a busy machine starts a node slowly
    monkeypatch.setattr(hdfs_errors, "KNOWN_S", 600.0)
    return Folder(hdfs.new_folder()).child("place")


@pytest.fixture
def proxy(hdfs: HdfsCluster) -> Iterator[CuttingProxy]:
    with cutting_proxy.running(hdfs.port) as found:
        yield found


@pytest.fixture
def behind(proxy: CuttingProxy, folder: Folder) -> Folder:
    """The same folder, asked for through the proxy."""
    return Folder(f"{proxy.address}/{folder.address.split('/', 3)[3]}")


@dataclass(frozen=True)
class Place:
    """A folder, and a proxy before the name node that loses messages on request."""

    proxy: CuttingProxy
    folder: Folder
    behind: Folder

    def trouble(self) -> None:
        """One message of eleven is lost, or its answer, in turn."""
        assert self.behind.read("x") is None  # the greeting is behind us
        kinds = list(Cut)
        self.proxy.follow(lambda number: kinds[number // 11 % 2] if number % 11 == 0 else None)

    def troubles(self) -> int:
        return self.proxy.cuts

    def unfinished(self) -> list[str]:
        return unfinished(self.folder)


class TestFiles(RemoteFilesContract):
    connector = "hdfs_native"
    scheme = "hdfs"
    races = 4
    turns = 5
    patience_s = 300

    @pytest.fixture
    def alike(self) -> bool:
        return False  # every loss is waited out: once is enough

    @pytest.fixture
    def remote(self, proxy: CuttingProxy, folder: Folder, behind: Folder) -> Place:
        return Place(proxy, folder, behind)


def test_a_large_file_of_many_blocks(folder: Folder) -> None:
    block = bytes(range(256)) * (MIB // 256)
    with folder.open_write("large") as stream:
        for _ in range(2 * BLOCK // MIB + 3):
            stream.write(block)
        assert stream.tell() == 2 * BLOCK + 3 * MIB
        assert not folder.exists("large")
        assert folder.names() == []
        assert folder.files() == {}
        assert len(unfinished(folder)) == 1
    assert folder.files() == {"large": 2 * BLOCK + 3 * MIB}
    assert unfinished(folder) == []
    with folder.open_read("large") as stream:
        stream.seek(BLOCK - 5)
        assert stream.read(10) == block[-5:] + block[:5]
        stream.seek(-3, os.SEEK_END)
        assert stream.read() == block[-3:]
        assert stream.read() == b""


CREATOR = """
import os, signal
from crawl.storage.filesystems.hdfs import HdfsFiles
folder = Folder(sys.argv[1])
folder.write("LOCK.before", b"1")

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "open":
    import hdfs_native
    hdfs_native.FileWriter.close = die
else:
    folder.read("x")
    client = folder._locate("")[0].client
    client.rename = die
folder.create("LOCK", b"half")
"""


@pytest.mark.parametrize("moment", ["open", "closed"])
def test_a_name_is_not_taken_by_one_that_died_before_it_had_it(folder: Folder, moment: str) -> None:
    died = subprocess.run(
        [sys.executable, "-c", HEAD + CREATOR, folder.address, moment],
        capture_output=True,
        timeout=300,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    assert folder.read("LOCK") is None
    assert folder.create("LOCK", b"whole") is True
    assert folder.read("LOCK") == b"whole"
    assert folder.names() == ["LOCK", "LOCK.before"]
    assert folder.drop_uploads() == 1
    assert unfinished(folder) == []
    assert folder.read("LOCK") == b"whole"


@pytest.mark.parametrize("cut", list(Cut))
def test_any_message_may_be_lost(behind: Folder, proxy: CuttingProxy, cut: Cut) -> None:
    """Each message in turn, until there is none more to lose."""
    assert behind.read("x") is None  # the greeting is behind us
    lost = 0
    while True:
        at = lost + 1
        proxy.follow(lambda number, at=at: cut if number == at else None)  # type: ignore[misc]
        assert behind.create(f"new-{at}", b"1") is True
        assert behind.create(f"new-{at}", b"1") is False
        behind.write("file", str(at).encode())
        assert behind.read("file") == str(at).encode()
        assert behind.size("file") == len(str(at))
        behind.delete(f"new-{at}")
        assert behind.names() == ["file"]
        if not proxy.cuts:
            break
        lost += 1
    assert lost > 8


@pytest.mark.parametrize("sweeps", [1, 3])
def test_a_cleaner_may_take_an_unfinished_file(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, sweeps: int
) -> None:
    """The holder of the lock sweeps while its own heart, or one who asks for it, writes."""
    folder.write("beat", b"0")
    left = sweeps
    send = HdfsFiles.send

    def swept(files: HdfsFiles, name: str, data: bytes) -> None:
        nonlocal left
        send(files, name, data)
        left -= 1
        if left >= 0:
            assert folder.drop_uploads() == 1

    monkeypatch.setattr(HdfsFiles, "send", swept)
    folder.write("beat", b"1")
    assert folder.read("beat") == b"1"
    left = sweeps
    assert folder.create("lock", b"2") is True
    assert folder.create("lock", b"2") is False
    assert folder.files() == {"beat": 1, "lock": 1}
    assert left < 0


def test_a_data_node_goes_and_comes_back(hdfs: HdfsCluster, folder: Folder) -> None:
    folder.write("before", b"1" * 1000)
    block = os.urandom(MIB)
    with folder.open_write("large") as stream:
        for number in range(20):
            if number == 18:
                hdfs.kill_data_node(0)
            stream.write(block)
    try:
        assert folder.read("before") == b"1" * 1000
        folder.write("without", b"2" * 1000)
        assert folder.create("new", b"3") is True
        assert folder.read("without") == b"2" * 1000
        with folder.open_read("large") as stream:
            assert stream.read() == block * 20
    finally:
        hdfs.start_data_node(0)
    hdfs.wait()
    assert folder.files() == {"before": 1000, "without": 1000, "new": 1, "large": 20 * MIB}


def restarted(hdfs: HdfsCluster, kill: Callable[[], None], start: Callable[[], None]) -> None:
    kill()
    starting = threading.Timer(1.0, start)
    starting.start()


def test_all_data_nodes_go_and_come_back(hdfs: HdfsCluster, folder: Folder) -> None:
    block = os.urandom(MIB)
    with folder.open_write("large") as stream:
        for _ in range(20):
            stream.write(block)

    def kill() -> None:
        hdfs.kill_data_node(0)
        hdfs.kill_data_node(1)

    def start() -> None:
        hdfs.start_data_node(0)
        hdfs.start_data_node(1)

    with folder.open_read("large") as stream:
        found = stream.read(MIB)
        restarted(hdfs, kill, start)
        assert folder.create("new", b"1" * 1000) is True
        found += stream.read()
    assert found == block * 20
    assert folder.read("new") == b"1" * 1000


def test_the_name_node_goes_and_comes_back(hdfs: HdfsCluster, folder: Folder) -> None:
    pointer = SealedFile(folder, "CURRENT")
    with folder.open_write("large") as stream:
        stream.write(os.urandom(18 * MIB))
        for number in range(2):
            pointer.write({"number": number})
            restarted(hdfs, hdfs.kill_name_node, hdfs.start_name_node)
            assert pointer.read() == {"number": number}
            assert folder.create(f"new-{number}", b"1") is True
            assert folder.create(f"new-{number}", b"1") is False
        stream.write(os.urandom(MIB))
    assert folder.size("large") == 19 * MIB
    assert pointer.read() == {"number": 1}
    hdfs.wait()


def test_no_permission_is_one_line(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("x", b"1")
    from hdfs_native import Client

    root, _, path = folder.address.removeprefix("hdfs://").partition("/")
    Client(f"hdfs://{root}").set_permission(f"/{path}", 0o700)
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody")
    for call in each_call(folder):
        line = error_line(call)
        assert "permission denied: nobody has no" in line
        assert "set HADOOP_USER_NAME" in line
    assert error_line(folder.drop_uploads).startswith(f"{folder.address}: permission denied")


def test_an_unreachable_name_node_is_one_line(proxy: CuttingProxy) -> None:
    proxy.close()
    for netloc in (f"127.0.0.1:{proxy.port}", "no-such-host.invalid:8020", "127.0.0.1:99999"):
        folder = Folder(f"hdfs://{netloc}/crawl")
        for call in each_call(folder)[:3]:
            assert "cannot reach" in error_line(call) or "port" in error_line(call)
            assert netloc in error_line(call)


def test_another_server_in_its_place_is_one_line() -> None:
    with cutting_proxy.running(1) as deaf:  # hangs up on everybody
        line = error_line(lambda: Folder(f"{deaf.address}/crawl").read("x"))
    assert f"cannot reach the name node at 127.0.0.1:{deaf.port}" in line


def test_names_that_only_a_configuration_knows(
    hdfs: HdfsCluster, folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "none"))
    service = Folder(folder.address.replace(f"127.0.0.1:{hdfs.port}", "crawlers"))
    default = Folder(folder.address.replace(f"127.0.0.1:{hdfs.port}", ""))
    assert "crawlers is no name service that is known here" in error_line(lambda: service.read("x"))
    assert "no name node is named" in error_line(lambda: default.read("x"))
    settings = {
        "fs.defaultFS": "hdfs://crawlers",
        "dfs.nameservices": "crawlers",
        "dfs.ha.namenodes.crawlers": "one",
        "dfs.namenode.rpc-address.crawlers.one": f"127.0.0.1:{hdfs.port}",
    }
    rows = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in settings.items()
    )
    for name in ("core-site.xml", "hdfs-site.xml"):
        (tmp_path / name).write_text(f"<configuration>{rows}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    folder.write("x", b"1")
    assert service.read("x") == b"1"
    assert default.read("x") == b"1"


def test_a_file_in_the_way_is_one_line(folder: Folder) -> None:
    folder.write("file", b"x")
    inside = folder.child("file")
    assert inside.names() == []
    for call in (
        lambda: inside.read("x"),
        lambda: inside.write("x", b""),
        lambda: inside.create("x", b""),
    ):
        assert "a part of the path is a file" in error_line(call)


def test_storage_faults_name_the_file(folder: Folder) -> None:
    with pytest.raises(StorageError, match="gone: no such file"), folder.open_read("gone"):
        pass
