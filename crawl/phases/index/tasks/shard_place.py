"""A shard of a writer's output: where a task finds its present state and writes the next."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast
from zlib import crc32

from crawl.errors import StorageError
from crawl.hints import index_anew
from crawl.search.file_sums import FILES_FILE, list_sum
from crawl.storage.file_sum import FileSum, file_fault
from crawl.storage.folder import Folder
from crawl.storage.local_copies import fetch_tree, send_tree
from crawl.tables.spill import spill_folder


@dataclass(slots=True)
class ShardPlace:
    """A shard of a writer's output, as `crawl.interfaces.indexwriter.Shard` has it."""

    number: int
    folder: Folder
    base: str | None = None
    base_sum: FileSum | None = None
    written: dict[str, FileSum] = field(default_factory=dict)
    """The sums of files that were written here, and of the lists of folders."""
    _here: Path | None = None
    """Folders of a store, while they are on this machine's disk."""

    def new_name(self, suffix: str) -> str:
        return f"part-{self.number:05d}-{uuid.uuid4().hex[:8]}{suffix}"

    @contextmanager
    def open_read(self, name: str) -> Iterator[IO[bytes]]:
        if name == self.base:
            fault = file_fault(self.folder, name, self.base_sum, deep=True)
            if fault:
                raise StorageError(f"{self.folder.path(name)} is damaged: {fault}: {index_anew()}")
        with self.folder.open_read(name) as stream:
            yield stream

    @contextmanager
    def open_write(self, name: str) -> Iterator[IO[bytes]]:
        with self.folder.open_write(name) as stream:
            summed = _SummedWriter(stream, self.folder.path(name))
            yield cast("IO[bytes]", summed)
            self.written[name] = FileSum(summed.bytes, summed.crc)

    def sum_of(self, name: str) -> FileSum | None:
        """The sum of the present state or of one that was written: of a folder that of the list
        of its files; None where nobody made one."""
        return self.base_sum if name == self.base else self.written.get(name)

    def local_path(self, name: str) -> str:
        path = self._local_path(name)
        if name == self.base and self.base_sum is not None and list_sum(path) != self.base_sum:
            raise StorageError(
                f"{self.folder.path(name)} is damaged: {FILES_FILE} is missing, or is not the list"
                f" that was written: {index_anew()}"
            )
        return path

    def _local_path(self, name: str) -> str:
        if self.folder.is_local():
            return self.folder.path(name).removeprefix("file://")
        if self._here is None:
            self._here = Path(tempfile.mkdtemp(prefix="index-", dir=spill_folder()))
        path = self._here / name
        if name == self.base and not path.exists():
            fetch_tree(self.folder.child(name), path)
        return str(path)

    def store(self, name: str) -> None:
        """Notes the list of a folder's files, and sends a folder that was made on this machine's
        disk to the store that it is for."""
        if name != self.base and name not in self.written:
            noted = list_sum(self._local_path(name))
            if noted is not None:
                self.written[name] = noted
        if self._here is not None and (self._here / name).is_dir():
            send_tree(self._here / name, self.folder.child(name))

    def release(self) -> None:
        """Deletes what is only here for the time of the work."""
        if self._here is not None:
            shutil.rmtree(self._here, ignore_errors=True)
            self._here = None


class _SummedWriter:
    """A stream that sums up what is written to it, and whose faults name the file: writers write
    outside of the block in which it was opened. All else is the stream's own."""

    __slots__ = ("_path", "_stream", "bytes", "crc")

    def __init__(self, stream: IO[bytes], path: str) -> None:
        self._stream = stream
        self._path = path
        self.bytes = 0
        self.crc = 0

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self.bytes += view.nbytes
        self.crc = crc32(view, self.crc)
        try:
            return self._stream.write(data)
        except OSError as error:
            raise StorageError(f"{self._path}: {error.strerror or error}") from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
