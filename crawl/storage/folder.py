"""A rooted folder on any file system: the only code that touches fsspec.

fsspec, because one interface covers local disk, memory, HDFS and object stores. Paths
are relative to the folder and use `/`. A Folder is a value: it pickles as its address
and opens its file system where it is used.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import fsspec
from fsspec.core import url_to_fs

from crawl.errors import StorageError
from crawl.hints import install
from crawl.storage.filesystems import hdfs, local_files, object_store
from crawl.storage.filesystems.counted import (
    count_read,
    count_written,
    counted_reader,
    size_of,
)
from crawl.telemetry.io_counts import count_io

PROBE = ".writable"
"""The file that is written to see whether one can be; one that died may leave it."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder named by a path or an fsspec URL, such as `crawl`, `s3://bucket/crawl`."""

    address: str

    def child(self, name: str) -> Folder:
        """A folder below this one."""
        return Folder(_below(self.address, name))

    def path(self, name: str) -> str:
        """The whole address of a file below this folder, for people and for Spark."""
        return _below(self.address, name)

    def exists(self, name: str = "") -> bool:
        file_system, path = self._locate(name)
        count_io()
        with self._naming_file(name):
            if _is_store(file_system):
                return object_store.exists(file_system, path)
            return bool(file_system.exists(path))

    def is_local(self) -> bool:
        """Whether the files are on this machine's disk."""
        file_system, _ = self._locate("")
        return "file" in _protocols(file_system)

    def read(self, name: str) -> bytes | None:
        """A small file's bytes; None where there is no such file."""
        file_system, path = self._locate(name)
        with self._naming_file(name):
            try:
                data = bytes(file_system.cat_file(path))
            except FileNotFoundError as error:
                object_store.require_bucket(error)
                count_io()
                return None
        count_io(read=len(data))
        return data

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file whole, replacing it: on a local disk, an object store and HDFS
        in one moment. Elsewhere a crash may leave it short."""
        file_system, path = self._locate(name)
        with self._naming_file(name):
            _make_parent(file_system, path)
            if self.is_local():
                local_files.write(file_system, path, data)
            else:
                file_system.pipe_file(path, data)
        count_io(written=len(data))

    def create(self, name: str, data: bytes) -> bool:
        """Writes a small file unless there is one already; says whether it did.

        Of many who try at once one succeeds: by a link that replaces nothing on a local
        disk, by a conditional write on an object store, by a rename that replaces nothing on
        HDFS, elsewhere as far as there is one.
        """
        file_system, path = self._locate(name)
        count_io(written=len(data))
        with self._naming_file(name):
            _make_parent(file_system, path)
            try:
                if self.is_local():
                    # fsspec's own "create" looks first and writes then: two would win
                    local_files.create(file_system, path, data)
                elif _is_store(file_system):
                    return object_store.create(file_system, path, data)
                elif _is_hdfs(file_system):
                    file_system.pipe_file(path, data, mode="create")
                else:
                    with _creating:
                        file_system.pipe_file(path, data, mode="create")
            except FileExistsError:
                return False
            return True

    @contextmanager
    def open_read(self, name: str, *, size: int | None = None) -> Iterator[IO[bytes]]:
        """Reads a file of any size. On an object store whoever knows its size saves a request;
        that there is no such file is then known when it is read."""
        file_system, path = self._locate(name)
        wanted: dict[str, int] = {}
        if _is_store(file_system):
            wanted["block_size"] = object_store.READ_BLOCK
            if size is not None:
                wanted["size"] = size
        with self._naming_file(name), file_system.open(path, "rb", **wanted) as stream:
            if "size" in wanted:
                object_store.trust_size(stream, path, wanted["size"])
            counted = counted_reader(stream)
            try:
                yield counted
            finally:
                count_read(counted, is_looked_at="size" not in wanted)

    @contextmanager
    def open_write(
        self, name: str, *, lasting: bool = True, whole: bool = False
    ) -> Iterator[IO[bytes]]:
        """Writes a file of any size. A lasting one is on the disk when the block ends, and
        a power cut cannot leave it short while what points to it is whole. On an object
        store and on HDFS the file is there when the block ends without a fault, and not
        before; on a local disk if it is to be `whole`, as what a user reads must be."""
        file_system, path = self._locate(name)
        with self._naming_file(name):
            if _is_store(file_system):
                stream = file_system.open(path, "wb", block_size=object_store.WRITE_BLOCK)
                try:
                    yield stream
                    size = size_of(stream)
                    object_store.finish(file_system, path, stream)
                except BaseException:
                    object_store.discard(stream)
                    raise
                count_written(size, object_store.WRITE_BLOCK)
                return
            _make_parent(file_system, path)
            if whole and self.is_local():
                opened = local_files.open_whole(file_system, path)
            else:
                opened = file_system.open(path, "wb")
            with opened as stream:
                yield stream
                size = size_of(stream)
                if lasting and self.is_local():
                    local_files.settle(stream)
        count_written(size, None)

    def require_writable(self, address: str | None = None) -> None:
        """Raises StorageError where nothing can be written, before time is spent on it; `address`
        is what people call the folder."""
        try:
            self.write(PROBE, b"")
            self.delete(PROBE)
        except StorageError as error:
            where = self.address if address is None else address
            raise StorageError(f"{where} cannot be written to: {error}") from error

    def remove_if_empty(self) -> None:
        """Removes the folder itself where nothing is in it; elsewhere than on a local disk an
        empty one is none, or in nobody's way."""
        if self.is_local():
            local_files.remove_folder(self._locate("")[1])

    def delete(self, name: str) -> None:
        """Deletes a file or a whole tree; deleting what is not there is no fault."""
        file_system, path = self._locate(name)
        count_io()
        with self._naming_file(name):
            try:
                if _is_store(file_system):
                    object_store.delete(file_system, path, _is_pattern)
                elif file_system.isfile(path):
                    file_system.rm_file(path)
                elif self.is_local() or _is_hdfs(file_system) or not _is_pattern(path):
                    file_system.rm(path, recursive=True)
                else:
                    # rm would take the path for a pattern, and delete something else
                    for file in file_system.find(path):
                        file_system.rm_file(file)
            except FileNotFoundError as error:
                object_store.require_bucket(error)

    def delete_files(self, names: Sequence[str]) -> None:
        """Deletes these files; what is not there is no fault. On an object store a request
        deletes a thousand, and a file that it refuses to delete stays: only for whoever will
        look again."""
        file_system, root = self._locate("")
        paths = [f"{root.rstrip('/')}/{name}" for name in names]
        if not _is_store(file_system) or any(map(_is_pattern, paths)):
            for name in names:
                self.delete(name)
            return
        with self._naming_file(""):
            count_io(requests=object_store.delete_files(file_system, paths))

    def drop_uploads(self, name: str = "") -> int:
        """Gives up what killed writers left half sent below; says how many files that were.

        No name is there for it, but a store keeps its parts and bills them, and HDFS and a
        local disk keep it beside the name that it was to get. Only for whoever knows that
        nobody is writing there now.
        """
        file_system, path = self._locate(name)
        count_io()
        with self._naming_file(name):
            if _is_hdfs(file_system):
                return int(file_system.drop_unfinished(path))
            if self.is_local():
                return local_files.drop_unfinished(path)
            return object_store.drop_uploads(file_system, path) if _is_store(file_system) else 0

    def files(self, name: str = "") -> dict[str, int]:
        """Every file below, relative to `name`, with its size.

        Only for cleaning up and for input folders: state is read by manifest.
        """
        file_system, path = self._locate(name)
        count_io()
        with self._naming_file(name):
            file_system.invalidate_cache()
            try:
                found = file_system.find(path, detail=True)
            except FileNotFoundError as error:
                object_store.require_bucket(error)
                return {}
        prefix = path.rstrip("/") + "/"
        return {
            entry.removeprefix(prefix): int(details.get("size") or 0)
            for entry, details in found.items()
            # some tools mark a folder of an object store by an empty object of its name
            if entry.startswith(prefix)
            and not entry.endswith("/")
            and not local_files.is_unfinished(entry)
        }

    def names(self, name: str = "") -> list[str]:
        """The names directly below, sorted; empty where there is no such folder."""
        file_system, path = self._locate(name)
        count_io()
        with self._naming_file(name):
            file_system.invalidate_cache()
            try:
                entries = file_system.ls(path, detail=False)
            except (FileNotFoundError, NotADirectoryError) as error:
                object_store.require_bucket(error)
                return []
        mark = path.rstrip("/") + "/"
        return sorted(
            str(entry).rstrip("/").rpartition("/")[2]
            for entry in entries
            if entry != mark and not local_files.is_unfinished(str(entry))
        )

    def size(self, name: str) -> int | None:
        """A file's size in bytes; None where it is a folder or is not there."""
        file_system, path = self._locate(name)
        count_io()
        with self._naming_file(name):
            try:
                details = file_system.info(path)
            except FileNotFoundError as error:
                object_store.require_bucket(error)
                return None
        return int(details["size"]) if details["type"] == "file" else None

    def _locate(self, name: str) -> tuple[Any, str]:
        with self._naming_file(name):
            file_system, root = _file_system(self.address)
        return file_system, f"{root.rstrip('/')}/{name}" if name else root

    @contextmanager
    def _naming_file(self, name: str) -> Iterator[None]:
        """Translates what file systems raise into one clear line."""
        try:
            yield
        except Exception as error:
            line = object_store.error_line(error) or _file_error_line(error)
            if line is None:
                raise
            raise StorageError(f"{self._named(name)}: {line}") from error

    def _named(self, name: str) -> str:
        return self.path(name) if name else self.address


def _file_error_line(error: Exception) -> str | None:
    """What a file system's exception means; None for any other exception."""
    match error:
        case FileNotFoundError():
            return "no such file or folder"
        case ValueError() if "null byte" in str(error):
            return "no name that a file can have"
        case PermissionError():
            return "permission denied"
        case NotADirectoryError() | FileExistsError():
            return "a part of the path is a file"
        case OSError() | ImportError():
            return " ".join(str(error).split())
    return None


def absolute(address: str) -> str:
    """A local path that means the same in a process with another working folder."""
    return address if "://" in address or "::" in address else str(Path(address).absolute())


def attempt_name(stem: str) -> str:
    """A file name for one attempt of a task to write `stem`: no two attempts share one."""
    return f"{stem}-{uuid.uuid4().hex[:8]}.parquet"


def split_address(address: str) -> tuple[Folder, str]:
    """A path or URL as the folder it is in and its own name; a root has no name."""
    stem = address.rstrip("/")
    if _is_root(stem):
        return Folder(address or "."), ""
    name = stem.rpartition("/")[2]
    above = stem.removesuffix(name)
    parent = above.rstrip("/")
    return Folder((above if _is_root(parent) else parent) or "."), name


def _below(address: str, name: str) -> str:
    stem = address.rstrip("/")
    return address + name if _is_root(stem) else f"{stem}/{name}"


def _is_root(stem: str) -> bool:
    """Whether an address without its last slashes was `/`, `memory://` or the like."""
    return not stem or stem.endswith(":")


def _file_system(address: str) -> tuple[Any, str]:
    scheme = urlsplit(address).scheme
    try:
        if scheme in hdfs.SCHEMES:
            return hdfs.file_system(address)
        file_system, root = url_to_fs(address, **object_store.options_of(scheme))
    except ImportError as error:
        remedy = install(_EXTRAS[scheme]) if scheme in _EXTRAS else str(error)
        raise OSError(f"the connector for {scheme}:// is not installed: {remedy}") from error
    except ValueError as error:
        # fsspec's word for a protocol it does not know
        known = ", ".join(sorted(set(fsspec.available_protocols()) & _SUGGESTED))
        raise OSError(f"no file system for {scheme!r} (known: {known})") from error
    return file_system, str(root)


_creating = threading.Lock()  # fsspec's memory has no exclusive write of its own
_EXTRAS = {"s3": "s3", "s3a": "s3", "hdfs": "hdfs", "viewfs": "hdfs"}
_SUGGESTED = {"file", "memory", "hdfs", "s3", "gs", "abfs"}


def _is_pattern(path: str) -> bool:
    return re.search(r"[*?\[]", path) is not None


def _protocols(file_system: Any) -> tuple[str, ...]:
    protocol = file_system.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _is_store(file_system: Any) -> bool:
    return object_store.is_store(_protocols(file_system))


def _is_hdfs(file_system: Any) -> bool:
    return not hdfs.SCHEMES.isdisjoint(_protocols(file_system))


def _make_parent(file_system: Any, path: str) -> None:
    parent = path.rpartition("/")[0]
    # on an object store there is no such thing, and "making" one would create a bucket
    if parent and not _is_store(file_system):
        file_system.makedirs(parent, exist_ok=True)
