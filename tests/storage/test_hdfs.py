"""What a cluster's nodes that die and a bad line to them do to files: nothing is lost."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawl.errors import StorageError
from crawl.storage import hdfs_faults
from crawl.storage.chunks import Chunk, ChunkLog, Piece
from crawl.storage.folder import Folder
from crawl.storage.hdfs import HdfsFiles
from crawl.storage.lock import acquire
from crawl.storage.pointer import Pointer
from crawl.storage.snapshot import Dataset
from crawl.testing.clock import ManualClock
from tests.storage import cutting_proxy
from tests.storage.cutting_proxy import Cut, CuttingProxy, Plan
from tests.storage.hdfs_cluster import BLOCK, HdfsCluster
from tests.storage.test_object_store import (
    _HEAD,
    FORKING,
    WRITER,
    _content,
    _each_call,
    _in_child,
    _publish,
    _told,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

MIB = 1 << 20
NOW = 1_800_000_000_000


@pytest.fixture
def folder(hdfs: HdfsCluster, monkeypatch: pytest.MonkeyPatch) -> Folder:
    # a busy machine starts a node slowly
    monkeypatch.setattr(hdfs_faults, "KNOWN_S", 600.0)
    return Folder(hdfs.new_folder()).child("place")


@pytest.fixture
def proxy(hdfs: HdfsCluster) -> Iterator[CuttingProxy]:
    with cutting_proxy.running(hdfs.port) as found:
        yield found


@pytest.fixture
def behind(proxy: CuttingProxy, folder: Folder) -> Folder:
    """The same folder, asked for through the proxy."""
    return Folder(f"{proxy.address}/{folder.address.split('/', 3)[3]}")


def every(count: int) -> Plan:
    """One message of so many is lost, or its answer, in turn."""
    kinds = list(Cut)

    def plan(number: int) -> Cut | None:
        return kinds[number // count % len(kinds)] if number % count == 0 else None

    return plan


def unfinished(folder: Folder) -> list[str]:
    """What is there beside the files, as the name node itself tells."""
    from hdfs_native import Client

    netloc, _, path = folder.address.removeprefix("hdfs://").partition("/")
    found = Client(f"hdfs://{netloc}").list_status(f"/{path}", True)
    return [entry.path for entry in found if entry.path.endswith(".unfinished")]


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


def test_a_fault_in_the_writer_leaves_nothing(folder: Folder) -> None:
    for size in (1, 18):
        with pytest.raises(ZeroDivisionError), folder.open_write("file") as stream:
            for _ in range(size):
                stream.write(b"x" * MIB)
            raise ZeroDivisionError
    assert folder.files() == {}
    assert not folder.exists() or unfinished(folder) == []


def test_a_forked_process_has_a_client_of_its_own(folder: Folder) -> None:
    _in_child(FORKING, folder)
    assert folder.read("child-2") == b"1"
    assert folder.read("parent") == b"2"


def test_a_writer_killed_in_mid_upload_loses_nothing(folder: Folder) -> None:
    dataset = Dataset(folder)
    _publish(dataset, b"old")
    victim = subprocess.Popen(
        [sys.executable, "-c", _HEAD + WRITER, folder.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert victim.stdout is not None
        assert select.select([victim.stdout], [], [], 300)[0]
        assert victim.stdout.readline() == b"half way\n"
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    assert _content(dataset) == b"old"
    assert len(unfinished(folder)) == 1, "its lease outlives it"
    took_over = _publish(dataset, b"new")
    assert took_over is not None
    assert "no longer runs" in took_over
    assert _content(dataset) == b"new"
    assert unfinished(folder) == []
    assert not [name for name in folder.files() if "LOCK" in name]


CREATOR = """
import os, signal
from crawl.storage.hdfs import HdfsFiles
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
        [sys.executable, "-c", _HEAD + CREATOR, folder.address, moment],
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


def test_one_of_many_wins_through_faults(behind: Folder, proxy: CuttingProxy) -> None:
    """A lost answer is not taken for another's success, nor another's for ours."""
    behind.write("x", b"")
    proxy.follow(every(9))
    for number in range(4):
        won: list[int] = []

        def run(racer: int, number: int, won: list[int]) -> None:
            if behind.create(f"lock-{number}", str(racer).encode()):
                won.append(racer)

        racers = [threading.Thread(target=run, args=(n, number, won)) for n in range(5)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert len(won) == 1
        assert behind.read(f"lock-{number}") == str(won[0]).encode()
    assert proxy.cuts > 3


def test_marks_locks_and_pointers_through_faults(behind: Folder, proxy: CuttingProxy) -> None:
    clock = ManualClock(NOW)
    pointer = Pointer(behind, "CURRENT")
    log = ChunkLog(behind, 0)
    assert log.claim(NOW) is None
    proxy.follow(every(11))
    for number in range(5):
        lock = acquire(behind, "test", clock, stale_after_ms=1e9)
        assert lock.took_over is None
        lock.show_life()
        pointer.write({"number": number})
        assert pointer.read() == {"number": number}
        lock.release()
        log.commit(Chunk({"content": Piece(f"{number}", number, 0)}, {}))
    found = ChunkLog(behind, 0).committed()
    assert [chunk.pieces["content"].rows for chunk in found] == list(range(5))
    assert proxy.cuts > 5
    assert unfinished(behind) == []


@pytest.mark.parametrize("sweeps", [1, 3])
def test_a_cleaner_may_take_an_unfinished_file(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, sweeps: int
) -> None:
    """Whoever holds the lock sweeps while its own heart, or one who asks for it, writes."""
    folder.write("beat", b"0")
    left = sweeps
    send = HdfsFiles._send

    def swept(files: HdfsFiles, name: str, data: bytes) -> None:
        nonlocal left
        send(files, name, data)
        left -= 1
        if left >= 0:
            assert folder.drop_uploads() == 1

    monkeypatch.setattr(HdfsFiles, "_send", swept)
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
    pointer = Pointer(folder, "CURRENT")
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
    for call in _each_call(folder):
        line = _told(call)
        assert "permission denied: nobody has no" in line
        assert "set HADOOP_USER_NAME" in line
    assert _told(folder.drop_uploads).startswith(f"{folder.address}: permission denied")


def test_an_unreachable_name_node_is_one_line(proxy: CuttingProxy) -> None:
    proxy.close()
    for netloc in (f"127.0.0.1:{proxy.port}", "no-such-host.invalid:8020", "127.0.0.1:99999"):
        folder = Folder(f"hdfs://{netloc}/crawl")
        for call in _each_call(folder)[:3]:
            assert "cannot reach" in _told(call) or "port" in _told(call)
            assert netloc in _told(call)


def test_another_server_in_its_place_is_one_line() -> None:
    with cutting_proxy.running(1) as deaf:  # hangs up on everybody
        line = _told(lambda: Folder(f"{deaf.address}/crawl").read("x"))
    assert f"cannot reach the name node at 127.0.0.1:{deaf.port}" in line


def test_names_that_only_a_configuration_knows(
    hdfs: HdfsCluster, folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "none"))
    service = Folder(folder.address.replace(f"127.0.0.1:{hdfs.port}", "crawlers"))
    default = Folder(folder.address.replace(f"127.0.0.1:{hdfs.port}", ""))
    assert "crawlers is no name service that is known here" in _told(lambda: service.read("x"))
    assert "no name node is named" in _told(lambda: default.read("x"))
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
        assert "a part of the path is a file" in _told(call)


def test_a_missing_connector_is_one_line() -> None:
    code = """
sys.modules["hdfs_native"] = None
from crawl.errors import StorageError
try:
    Folder("hdfs://127.0.0.1:1/crawl").read("x")
except StorageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + code], capture_output=True, text=True, timeout=120
    )
    expected = "the connector for hdfs:// is not installed: pip install 'nutria[hdfs]'"
    assert done.stdout == f"hdfs://127.0.0.1:1/crawl/x: {expected}\n"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            'RPCError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "No\\n\\tat")',
            "in safe mode",
        ),
        ('RPCError("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "B")', "quota"),
        ('RPCError("org.apache.hadoop.ipc.StandbyException", "Operation")', "on standby"),
        (
            'RPCError("org.apache.hadoop.security.AccessControlException", '
            '"SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]")',
            "wants Kerberos",
        ),
        (
            'RPCError("java.io.IOException", "Something else\\n\\tat x.y(Z:1)")',
            "Something else",
        ),
        ('OperationFailed("Failed to complete file in time")', "Failed to complete file in time"),
    ],
)
def test_what_a_cluster_says_is_one_line(said: str, line: str) -> None:
    told = hdfs_faults.told(RuntimeError(said), "nn:8020")
    assert line in told
    assert "\n" not in told
    assert "\\n" not in told
    assert "org.apache" not in told


def test_a_broken_line_is_told_by_what_was_known() -> None:
    error = OSError("Broken pipe (os error 32)")
    assert "cannot reach the name node at nn:8020" in hdfs_faults.told(error, "nn:8020")
    gone = hdfs_faults.told(error, "nn:8020", known=True)
    assert "a node of the cluster at nn:8020 no longer answers (Broken pipe" in gone


def test_a_fault_of_the_user_is_not_tried_again() -> None:
    asked: list[int] = []

    def refused() -> None:
        asked.append(1)
        raise RuntimeError('RPCError("org.apache.hadoop.fs.InvalidPathException", "Invalid")')

    with pytest.raises(OSError, match="^Invalid$"):
        hdfs_faults.Patience("service").of(refused)
    assert len(asked) == 1


def test_storage_faults_name_the_file(folder: Folder) -> None:
    with pytest.raises(StorageError, match="gone: no such file"), folder.open_read("gone"):
        pass
