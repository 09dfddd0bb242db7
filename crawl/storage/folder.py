"""A rooted folder on any file system: the only code that touches fsspec.

fsspec, because one interface covers local disk, memory, HDFS and object stores. Paths
are relative to the folder and use `/`. A Folder is a value: it pickles as its address
and opens its file system where it is used.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from fsspec.core import url_to_fs

from crawl.errors import StorageError
from crawl.hints import install
from crawl.storage.filesystems import hdfs, local_files, object_store
from crawl.storage.filesystems.addresses import below, is_root
from crawl.storage.filesystems.counted import count_read, count_written, counted_reader, size_of
from crawl.storage.filesystems.fences import Fence, FencedOff
from crawl.storage.filesystems.kinds import (
    fence_of,
    file_error_line,
    is_hdfs,
    is_local,
    is_pattern,
    is_store,
    make_parent,
    read_small,
)
from crawl.storage.filesystems.memory_versions import one_at_a_time
from crawl.telemetry.io_counts import count_io

PROBE = ".writable"
"""The file that is written to see whether one can be; one that died may leave it."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder named by a path or an fsspec URL, such as `crawl`, `s3://bucket/crawl`."""

    address: str
    fence: Fence | None = field(default=None, compare=False, repr=False)
    """Of the holder of a lock, whose small writes fail when it has lost it (see fences.py)."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Folder, (self.address,)

    def child(self, name: str) -> Folder:
        """A folder below this one."""
        return Folder(below(self.address, name), self.fence)

    def guarded(self, lock: str, token: str, *, is_holder: bool = True) -> Folder:
        """The same folder for one who takes the lock of that name in it: what it writes with
        `write`, and takes away with `remove`, is done if the lock is still its own."""
        file_system, root = self._locate("")
        fence = fence_of(file_system, root.rstrip("/"), lock, token, is_holder=is_holder)
        return Folder(self.address, fence)

    def read_anew(self, name: str) -> bytes | None:
        """As `read`; what is written behind the fence next takes its place, and no other's."""
        if self.fence is not None:
            self.fence.forget(self._locate(name)[1])
        return self.read(name)

    def fence_open(self, is_open: bool) -> None:
        """Opens the fence of its holder, or closes it for ever."""
        assert self.fence is not None
        with self._naming_file(""):
            self.fence.open() if is_open else self.fence.close()

    def shut_out(self, token: str | None) -> None:
        """Closes the fence of another holder, or those of all others."""
        assert self.fence is not None
        with self._naming_file(""):
            self.fence.shut_out(token)

    def remove(self, name: str) -> bool:
        """Deletes a file that was read, if the lock is still its holder's; whether it did."""
        assert self.fence is not None
        count_io()
        with self._naming_file(name):
            return self.fence.remove(self._locate(name)[1])

    def path(self, name: str) -> str:
        """The whole address of a file below this folder, for people and for Spark."""
        return below(self.address, name)

    def exists(self, name: str = "") -> bool:
        with self._request(name) as (file_system, path):
            if is_store(file_system):
                return object_store.exists(file_system, path)
            return bool(file_system.exists(path))

    def is_local(self) -> bool:
        """Whether the files are on this machine's disk."""
        file_system, _ = self._locate("")
        return is_local(file_system)

    def read(self, name: str) -> bytes | None:
        """A small file's bytes; None where there is no such file."""
        file_system, path = self._locate(name)
        with self._naming_file(name):
            if self.fence is None:
                data = read_small(file_system, path)
            else:
                data = self.fence.read(path, partial(read_small, file_system, path))
        count_io(read=len(data or b""))
        return data

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file whole, replacing it: on a local disk, an object store and HDFS
        in one moment. Elsewhere a crash may leave it short."""
        file_system, path = self._locate(name)
        with self._naming_file(name):
            make_parent(file_system, path)
            if self.is_local():
                write = partial(local_files.write, file_system, path, data)
            else:
                write = partial(file_system.pipe_file, path, data)
            if self.fence is None:
                write()
            elif not self.fence.write(path, data, write):
                raise FencedOff(self.path(name))
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
            make_parent(file_system, path)
            try:
                if self.is_local():
                    # fsspec's own "create" looks first and writes then: two would win
                    local_files.create(file_system, path, data)
                elif is_store(file_system):
                    return object_store.create(file_system, path, data)
                elif is_hdfs(file_system):
                    file_system.pipe_file(path, data, mode="create")
                else:
                    with one_at_a_time:
                        file_system.pipe_file(path, data, mode="create")
            except FileExistsError:
                return False
            return True

    @contextmanager
    def open_read(self, name: str, *, size: int | None = None) -> Iterator[IO[bytes]]:
        """Reads a file of any size. On an object store whoever knows its size saves a request;
        that there is no such file is then known when it is read."""
        file_system, path = self._locate(name)
        options: dict[str, int] = {}
        if is_store(file_system):
            options["block_size"] = object_store.READ_BLOCK
            if size is not None:
                options["size"] = size
        with self._naming_file(name), file_system.open(path, "rb", **options) as stream:
            if "size" in options:
                object_store.trust_size(stream, path, options["size"])
            counted = counted_reader(stream)
            try:
                yield counted
            finally:
                count_read(counted, is_looked_at="size" not in options)

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
            if is_store(file_system):
                with object_store.uploading(file_system, path) as stream:
                    yield stream
                    size = size_of(stream)
                count_written(size, object_store.WRITE_BLOCK)
                return
            make_parent(file_system, path)
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
        with self._request(name) as (file_system, path), object_store.AllowedAbsence():
            if is_store(file_system):
                object_store.delete(file_system, path, is_pattern)
            elif file_system.isfile(path):
                file_system.rm_file(path)
            elif self.is_local() or is_hdfs(file_system) or not is_pattern(path):
                file_system.rm(path, recursive=True)
            else:
                # rm would take the path for a pattern, and delete something else
                for file in file_system.find(path):
                    file_system.rm_file(file)

    def delete_files(self, names: Sequence[str]) -> None:
        """Deletes these files; what is not there is no fault. On an object store a request
        deletes a thousand, and a file that it refuses to delete stays: only for whoever will
        look again."""
        file_system, root = self._locate("")
        paths = [f"{root.rstrip('/')}/{name}" for name in names]
        if not is_store(file_system) or any(map(is_pattern, paths)):
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
        with self._request(name) as (file_system, path):
            if is_hdfs(file_system):
                return int(file_system.drop_unfinished(path))
            if self.is_local():
                return local_files.drop_unfinished(path)
            return object_store.drop_uploads(file_system, path) if is_store(file_system) else 0

    def files(self, name: str = "") -> dict[str, int]:
        """Every file below, relative to `name`, with its size.

        Only for cleaning up and for input folders: state is read by manifest.
        """
        with self._request(name) as (file_system, path):
            file_system.invalidate_cache()
            entries: dict[str, Any] = {}
            with object_store.AllowedAbsence():
                entries = file_system.find(path, detail=True)
        prefix = path.rstrip("/") + "/"
        return {
            entry.removeprefix(prefix): int(details.get("size") or 0)
            for entry, details in entries.items()
            # some tools mark a folder of an object store by an empty object of its name
            if entry.startswith(prefix)
            and not entry.endswith("/")
            and not local_files.is_unfinished(entry)
        }

    def names(self, name: str = "") -> list[str]:
        """The names directly below, sorted; empty where there is no such folder."""
        with self._request(name) as (file_system, path):
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
        with self._request(name) as (file_system, path), object_store.AllowedAbsence():
            details = file_system.info(path)
            return int(details["size"]) if details["type"] == "file" else None
        return None

    def _locate(self, name: str) -> tuple[Any, str]:
        with self._naming_file(name):
            file_system, root = _file_system(self.address)
        return file_system, f"{root.rstrip('/')}/{name}" if name else root

    @contextmanager
    def _request(self, name: str) -> Iterator[tuple[Any, str]]:
        """The file system and the path in it, for what counts as one request."""
        file_system, path = self._locate(name)
        count_io()
        with self._naming_file(name):
            yield file_system, path

    @contextmanager
    def _naming_file(self, name: str) -> Iterator[None]:
        """Translates what file systems raise into one clear line."""
        try:
            yield
        except Exception as error:
            line = object_store.error_line(error) or file_error_line(error)
            if line is None:
                raise
            where = self.path(name) if name else self.address
            raise StorageError(f"{where}: {line}") from error


def absolute(address: str) -> str:
    """A local path that means the same in a process with another working folder."""
    return address if "://" in address or "::" in address else str(Path(address).absolute())


def attempt_name(stem: str) -> str:
    """A file name for one attempt of a task to write `stem`: no two attempts share one."""
    return f"{stem}-{uuid.uuid4().hex[:8]}.parquet"


def split_address(address: str) -> tuple[Folder, str]:
    """A path or URL as the folder it is in and its own name; a root has no name."""
    stem = address.rstrip("/")
    if is_root(stem):
        return Folder(address or "."), ""
    name = stem.rpartition("/")[2]
    above = stem.removesuffix(name)
    parent = above.rstrip("/")
    return Folder((above if is_root(parent) else parent) or "."), name


def _file_system(address: str) -> tuple[Any, str]:
    scheme = _scheme(address)
    if scheme not in _SCHEMES:
        raise OSError(
            f"no file system for {scheme!r} (known: {', '.join(_SUGGESTED)}): a crawl can be on a"
            " local disk, on HDFS or in S3"
        )
    try:
        if scheme in hdfs.SCHEMES:
            return hdfs.file_system(address)
        file_system, root = url_to_fs(address, **object_store.options_of(scheme))
    except ImportError as error:
        remedy = install(_EXTRAS[scheme]) if scheme in _EXTRAS else str(error)
        raise OSError(f"the connector for {scheme}:// is not installed: {remedy}") from error
    return file_system, str(root)


def _scheme(address: str) -> str:
    """That of a URL, or the first of a chain of them; a path has that of a file."""
    if "::" in address:
        return address.partition("::")[0]
    scheme, mark, _ = address.partition("://")
    return scheme if mark else "file"


_EXTRAS = {"s3": "s3", "s3a": "s3", "hdfs": "hdfs", "viewfs": "hdfs"}
_SUGGESTED = ("file", "hdfs", "s3", "s3a", "viewfs")
_SCHEMES = frozenset({*_SUGGESTED, "memory"})
"""Those whose locks and publications are tested on a store of the kind. A store whose exclusive
writes are none has two drivers hold one lock, and neither is told."""
