"""What every format has: records go in, files come out under names that no other attempt has."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import IO, Protocol

from crawl.phases.export.tasks.record import Record
from crawl.phases.export.values import ExportedFile
from crawl.storage.folder import Folder


class RecordSink(Protocol):
    """Writes records into one open file."""

    def write(self, record: Record) -> None: ...
    def close(self) -> None:
        """Writes what is left; the file itself is closed by its owner."""
        ...


class PartWriter:
    """The files of one part, each of at most so many records; none where there is no record.
    A context manager: what is not left in good order is not told about."""

    def __init__(
        self,
        folder: Folder,
        place: str,
        suffix: str,
        sink: Callable[[IO[bytes]], RecordSink],
        most: int,
    ) -> None:
        self._folder = folder
        self._place = place
        self._suffix = suffix
        self._new_sink = sink
        self._most = most
        self._stack = ExitStack()
        self._sink: RecordSink | None = None
        self._stream: IO[bytes] | None = None
        self._path = ""
        self._records = 0
        self.files: list[ExportedFile] = []

    def write(self, record: Record) -> None:
        if self._sink is None:
            self._open()
        assert self._sink is not None
        self._sink.write(record)
        self._records += 1
        if self._records >= self._most:
            self.finish()

    def _open(self) -> None:
        number = len(self.files)
        self._path = f"{self._place}-{number:04d}-{uuid.uuid4().hex[:8]}{self._suffix}"
        self._stream = self._stack.enter_context(self._folder.open_write(self._path))
        self._sink = self._new_sink(self._stream)
        self._records = 0

    def finish(self) -> None:
        """Ends the file that is open."""
        if self._sink is None or self._stream is None:
            return
        self._sink.close()
        size = self._stream.tell()
        self._stack.close()
        self.files.append(ExportedFile(self._path, self._records, size))
        self._sink = self._stream = None

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self.finish()
            return
        if self._sink is not None:
            with suppress(Exception):  # or it writes when it is collected
                self._sink.close()
        # as the file's own block would end: with the fault, so that no store keeps half of it
        self._stack.__exit__(kind, error, trace)  # type: ignore[arg-type]
