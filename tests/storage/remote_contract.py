"""What every remote store promises, however bad the connection is and whichever process dies."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
import threading
from typing import ClassVar, Protocol

import pytest

from crawl.storage.chunks import Chunk, ChunkLog, Piece
from crawl.storage.folder import Folder
from crawl.storage.lock import acquire
from crawl.storage.sealed_file import SealedFile
from crawl.storage.snapshot import Dataset
from crawl.testing.clock import ManualClock
from tests.storage.remote_files import HEAD, MIB, NOW, content, in_child, publish

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

WITHOUT_CONNECTOR = """
sys.modules[sys.argv[1]] = None
from crawl.errors import StorageError
try:
    Folder(sys.argv[2]).read("x")
except StorageError as error:
    print(error)
"""


class Remote(Protocol):
    """An empty folder of a store, and the line to it."""

    @property
    def folder(self) -> Folder: ...

    @property
    def behind(self) -> Folder:
        """The same folder, by the connection on which messages get lost."""

    def trouble(self) -> None:
        """From now on messages get lost."""

    def troubles(self) -> int:
        """How many messages got lost."""

    def unfinished(self) -> list[str]:
        """What the store itself knows of uploads that have not ended."""


class RemoteFilesContract:
    """A store's tests subclass it, with a fixture `remote`; and one `alike`: whether those who
    race write the same bytes."""

    connector: ClassVar[str]
    """The module without which there is no such store."""
    scheme: ClassVar[str]
    races: ClassVar[int]
    turns: ClassVar[int]
    """How often the same is done on a bad line, which must show itself more often than that."""
    patience_s: ClassVar[int] = 120

    def test_a_fault_in_the_writer_leaves_nothing(self, remote: Remote) -> None:
        folder = remote.folder
        for size in (1, 18):
            with pytest.raises(ZeroDivisionError), folder.open_write("file") as stream:
                for _ in range(size):
                    stream.write(b"x" * MIB)
                raise ZeroDivisionError
        assert folder.files() == {}
        assert not folder.exists() or remote.unfinished() == []

    def test_what_another_writes_is_seen_at_once(self, remote: Remote) -> None:
        folder = remote.folder
        assert folder.names() == []
        in_child("Folder(sys.argv[1]).write('theirs', b'1')", folder.address)
        assert folder.names() == ["theirs"]
        assert folder.files() == {"theirs": 1}
        in_child("Folder(sys.argv[1]).write('theirs', b'22')", folder.address)
        assert folder.size("theirs") == 2
        in_child("Folder(sys.argv[1]).delete('theirs')", folder.address)
        assert not folder.exists("theirs")
        assert folder.names() == []

    def test_a_forked_process_has_a_client_of_its_own(self, remote: Remote) -> None:
        in_child(FORKING, remote.folder.address)
        assert remote.folder.read("child-2") == b"1"
        assert remote.folder.read("parent") == b"2"

    def test_a_writer_killed_in_mid_upload_loses_nothing(self, remote: Remote) -> None:
        folder = remote.folder
        dataset = Dataset(folder)
        publish(dataset, b"old")
        victim = subprocess.Popen(
            [sys.executable, "-c", HEAD + WRITER, folder.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert victim.stdout is not None
            assert select.select([victim.stdout], [], [], self.patience_s)[0]
            assert victim.stdout.readline() == b"half way\n"
            assert len(_uploads(remote)) == 1
        finally:
            victim.send_signal(signal.SIGKILL)
            victim.communicate()
        assert content(dataset) == b"old"
        assert len(_uploads(remote)) == 1, "it outlives its writer"
        took_over = publish(dataset, b"new")
        assert took_over is not None
        assert "no longer runs" in took_over
        assert content(dataset) == b"new"
        assert remote.unfinished() == []
        assert not [name for name in folder.files() if "LOCK" in name]

    def test_one_of_many_wins_through_faults(self, remote: Remote, alike: bool) -> None:
        """A lost answer is not taken for another's success, nor another's for ours."""
        folder = remote.behind
        remote.trouble()
        for number in range(self.races):
            won: list[int] = []

            def run(racer: int, number: int, won: list[int]) -> None:
                content = b"the same bytes" if alike else str(racer).encode()
                if folder.create(f"lock-{number}", content):
                    won.append(racer)

            racers = [threading.Thread(target=run, args=(n, number, won)) for n in range(6)]
            for racer in racers:
                racer.start()
            for racer in racers:
                racer.join()
            assert len(won) == 1
            content = b"the same bytes" if alike else str(won[0]).encode()
            assert folder.read(f"lock-{number}") == content
        assert remote.troubles() >= self.races

    def test_marks_locks_and_pointers_through_faults(self, remote: Remote) -> None:
        folder = remote.behind
        clock = ManualClock(NOW)
        pointer = SealedFile(folder, "CURRENT")
        log = ChunkLog(folder, 0)
        assert log.claim(NOW) is None
        remote.trouble()
        for number in range(self.turns):
            lock = acquire(folder, "test", clock, stale_after_ms=1e9)
            assert lock.took_over is None
            lock.show_life()
            pointer.write({"number": number})
            assert pointer.read() == {"number": number}
            lock.release()
            log.commit(Chunk({"content": Piece(f"{number}", number, 0)}, {}))
        found = ChunkLog(folder, 0).committed()
        assert [chunk.pieces["content"].rows for chunk in found] == list(range(self.turns))
        assert remote.troubles() > self.turns
        assert remote.unfinished() == []

    def test_a_missing_connector_is_one_line(self) -> None:
        address = f"{self.scheme}://127.0.0.1:1/crawl"
        output = in_child(WITHOUT_CONNECTOR, self.connector, address)
        install = f"pip install '.[{self.scheme}]'"
        expected = f"the connector for {self.scheme}:// is not installed: {install}"
        assert output == f"{address}/x: {expected}\n"


def _uploads(remote: Remote) -> list[str]:
    """What is half sent, without the folder that the holder of a lock has while it has it."""
    return [name for name in remote.unfinished() if ".LOCK.holder-" not in name.rpartition("/")[2]]
