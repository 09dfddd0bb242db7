"""HDFS as a Folder needs it: files that appear whole, or not at all.

By hdfs-native, because it speaks the cluster's own protocol without Java or libhdfs. A file
that is being written belongs to its writer, and a writer that dies keeps it half written for
long. So nothing is ever written under its own name: the bytes go to an unfinished file beside
it, which is closed and renamed. The name node renames in one step, and refuses where it must
not replace: that decides between many who want the same name, and makes a publication atomic.
"""

from __future__ import annotations

import io
import os
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from crawl.errors import StorageError
from crawl.storage.filesystems.hdfs_errors import HdfsRetries, error_line

SCHEMES = frozenset({"hdfs", "viewfs"})
READ_BLOCK = 1 << 20
"""Read at a time, at least."""
SMALL = 16 << 20
"""Up to here a file is kept until its end is known, and sent again where that fails."""

_UNFINISHED = ".unfinished"
WRITES = 6
"""How often a small file is begun anew where its unfinished one was lost."""
_SETTLE_LOOKS = 1500
_SETTLE_PAUSE_S = 0.02
_pause = threading.Event()  # never set: a sleep
_ONE_NAME_NODE = {"dfs.client.failover.max.attempts": "0"}
"""Where there is no other name node to turn to, the pauses between attempts are ours."""


def file_system(address: str) -> tuple[HdfsFiles, str]:
    """The client of this process for the cluster of an address, and the path in it.

    User and configuration are found the usual way: HADOOP_USER_NAME or a Kerberos ticket,
    HADOOP_CONF_DIR.
    """
    # all after the name node is the path: '#' and '%' are nothing special there
    netloc, slash, path = address.partition("://")[2].partition("/")
    scheme = urlsplit(address).scheme
    surroundings = [os.environ.get(name, "") for name in ("HADOOP_USER_NAME", "HADOOP_CONF_DIR")]
    # a client has threads, which a forked process does not inherit
    key = (os.getpid(), scheme, netloc, *surroundings)
    with _opening:
        if key not in _opened:
            _opened[key] = _open(scheme, netloc)
        return _opened[key], _clean(slash + path)


_opening = threading.Lock()
_opened: dict[tuple[object, ...], HdfsFiles] = {}


def _open(scheme: str, netloc: str) -> HdfsFiles:
    from hdfs_native import fsspec as native

    kinds = {"hdfs": native.HdfsFileSystem, "viewfs": native.ViewfsFileSystem}
    named = urlsplit(f"//{netloc}")
    try:
        port = named.port
    except ValueError as error:
        raise OSError(f"{netloc!r} has no port that could be meant") from error
    options = _ONE_NAME_NODE if port else {}
    try:
        opened = kinds[scheme](named.hostname, port, skip_instance_cache=True, **options)
    except RuntimeError as error:
        raise OSError(error_line(error, netloc)) from error
    return HdfsFiles(opened.client, HdfsRetries(netloc))


def _clean(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)


@dataclass(frozen=True, slots=True)
class HdfsFiles:
    """A cluster's files, by the calls of fsspec that `folder` makes. Paths are taken as they
    are: none is a pattern."""

    client: Any
    patience: HdfsRetries
    protocol: tuple[str, ...] = field(default=tuple(sorted(SCHEMES)))

    def info(self, path: str) -> dict[str, Any]:
        status = self.ask(lambda: self.client.get_file_info(_clean(path)))
        return {"size": status.length, "type": "directory" if status.isdir else "file"}

    def exists(self, path: str) -> bool:
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def isfile(self, path: str) -> bool:
        return bool(self.info(path)["type"] == "file")

    def cat_file(self, path: str) -> bytes:
        return bytes(self.ask(lambda: self.client.read(_clean(path)).read()))

    def pipe_file(self, path: str, data: bytes, mode: str = "overwrite") -> None:
        """Writes a file; FileExistsError with the mode "create" where there is one."""
        path, replacing = _clean(path), mode == "overwrite"
        if not replacing and self.exists(path):
            raise FileExistsError(path)
        for attempt in range(WRITES):
            unfinished = unfinished_name(path)
            try:
                self.ask(partial(self.send, unfinished, data))
                self.ask(partial(self.client.rename, unfinished, path, replacing))
            except FileNotFoundError:
                # The renaming was done and its answer lost; or somebody cleaned up the folder
                # and took the unfinished file for a dead writer's.
                if self.holds(path, data):
                    return
                if attempt == WRITES - 1:
                    raise
            except BaseException:
                self._drop(unfinished)
                raise
            else:
                return

    def holds(self, path: str, data: bytes) -> bool:
        try:
            return self.cat_file(path) == data
        except FileNotFoundError:
            return False

    def send(self, unfinished: str, data: bytes, *, create_parent: bool = True) -> None:
        """Writes a file whole, of one attempt alone."""
        # a second attempt writes over what is left of the first
        stream = self.client.create(unfinished, _replacing(create_parent=create_parent))
        if data:
            stream.write(data)
        # Lasting is what several data nodes have. To wait for their disks (hsync) too would be
        # to wait for ever where one of them dies meanwhile: the client does not notice.
        stream.close()
        self._settle(unfinished, len(data))

    def _settle(self, path: str, size: int) -> None:
        """Waits until all of a closed file can be read.

        A cluster may let a file be closed before a data node has reported its last block
        (dfs.namenode.file.close.num-committed-allowed): until then readers are told that it is
        shorter than it is, though it is listed with its whole length.
        """
        for _ in range(_SETTLE_LOOKS):
            if len(self.client.read(path)) == size:
                return
            _pause.wait(_SETTLE_PAUSE_S)
        raise OSError(f"blocks of {path} were not reported by any data node")

    def open(self, path: str, mode: str) -> Any:
        if mode == "rb":
            return io.BufferedReader(_Reader(self, _clean(path)), READ_BLOCK)
        return Upload(self, _clean(path))

    def rm_file(self, path: str) -> None:
        self.ask(lambda: self.client.delete(_clean(path), True))

    def rm(self, path: str, recursive: bool) -> None:
        self.ask(lambda: self.client.delete(_clean(path), recursive))

    def find(self, path: str, detail: bool = False) -> Any:
        """Every file below."""
        files = {
            entry.path: {"size": entry.length}
            for entry in self._list(path, recursive=True)
            if not entry.isdir and not is_unfinished(entry.path)
        }
        return files if detail else list(files)

    def ls(self, path: str, detail: bool) -> list[str]:
        """What is directly below."""
        paths = [entry.path for entry in self._list(path, recursive=False)]
        if paths == [_clean(path)]:
            raise NotADirectoryError(path)
        return [entry for entry in paths if not is_unfinished(entry)]

    def listed(self, path: str) -> list[str]:
        """All that is directly below, also what is hidden from readers."""
        return [str(entry.path) for entry in self._list(path, recursive=False)]

    def drop_unfinished(self, path: str) -> int:
        """Deletes what dead writers left below; says how many files that were."""
        try:
            entries = self._list(path, recursive=True)
        except FileNotFoundError:
            return 0
        # a folder of such a name is that of the holder of a lock (hdfs_fence.py)
        unfinished = [each.path for each in entries if is_unfinished(each.path) and not each.isdir]
        for name in unfinished:
            self.rm_file(name)
        return len(unfinished)

    def makedirs(self, path: str, exist_ok: bool) -> None:
        """Nothing: a file's folders are made with it."""

    def invalidate_cache(self) -> None:
        """Nothing: the name node is asked each time."""

    def _list(self, path: str, *, recursive: bool) -> list[Any]:
        entries: list[Any] = self.ask(
            lambda: list(self.client.list_status(_clean(path), recursive))
        )
        return entries

    def _drop(self, unfinished: str) -> None:
        with suppress(Exception):  # the fault that led here is the one to be told
            self.client.delete(unfinished, False)

    def ask(self, call: Callable[[], Any]) -> Any:
        return self.patience.of(call)


class _Reader(io.RawIOBase):
    """A file from any place in it; opened anew where the data nodes have changed."""

    def __init__(self, files: HdfsFiles, path: str) -> None:
        super().__init__()
        self._files = files
        self._path = path
        self._inner: Any = None
        self._place = 0
        self._length: int = files.ask(self._opened_length)

    def _opened_length(self) -> int:
        self._inner = self._files.client.read(self._path)
        return len(self._inner)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._length}[whence]
        self._place = max(0, start + offset)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self._length - self._place)
        if size <= 0:
            return 0
        buffer[:size] = self._files.ask(lambda: self._range(size))
        self._place += size
        return size

    def _range(self, size: int) -> bytes:
        if self._inner is None and self._opened_length() != self._length:
            raise StorageError(f"{self._path} was replaced while it was read")
        try:
            return bytes(self._inner.read_range(self._place, size))
        except BaseException:
            self._inner = None
            raise


class Upload(io.RawIOBase):
    """A file that is there when its block ends without a fault, and not before."""

    def __init__(self, files: HdfsFiles, path: str) -> None:
        super().__init__()
        self._files = files
        self._path = path
        self._unfinished = unfinished_name(path)
        self._unsent = bytearray()
        self._stream: Any = None
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self._stream is None:
            self._unsent += view
            if len(self._unsent) > SMALL:
                self._begin()
        else:
            self._files.patience.once(lambda: self._stream.write(view))
        self._size += len(view)
        return len(view)

    def _begin(self) -> None:
        """Sends what was kept; all that comes goes after it."""

        def opened() -> Any:
            stream = self._files.client.create(self._unfinished, _replacing())
            stream.write(bytes(self._unsent))
            return stream

        self._stream = self._files.ask(opened)
        self._unsent.clear()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self.finish()
        else:
            self.discard()

    def finish(self) -> None:
        if self._stream is None:
            self._files.pipe_file(self._path, bytes(self._unsent))
        else:
            stream, self._stream = self._stream, None
            try:
                self._files.patience.once(stream.close)
                self._files.ask(partial(self._files._settle, self._unfinished, self._size))
                rename = partial(self._files.client.rename, self._unfinished, self._path, True)
                self._files.ask(rename)
            except FileNotFoundError:
                if not self._was_renamed():
                    raise
            except BaseException:
                self._files._drop(self._unfinished)
                raise
        self.close()

    def _was_renamed(self) -> bool:
        """Whether only the answer was lost. The file's name is of this attempt alone."""
        try:
            return bool(self._files.info(self._path)["size"] == self._size)
        except FileNotFoundError:
            return False

    def discard(self) -> None:
        if self._stream is not None:
            self._stream = None
            self._files._drop(self._unfinished)
        self.close()


def unfinished_name(path: str) -> str:
    above, _, name = path.rpartition("/")
    # hidden from whoever reads the folder: Spark and others pass over such names
    return f"{above}/.{name}.{uuid.uuid4().hex[:12]}{_UNFINISHED}"


def is_unfinished(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".") and name.endswith(_UNFINISHED)


def _replacing(*, create_parent: bool = True) -> Any:
    from hdfs_native import WriteOptions

    return WriteOptions(overwrite=True, create_parent=create_parent)
