"""Bytes that a task puts aside on the disk of the machine it runs on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crawl.errors import StorageError

_LOCAL_FOLDERS = "SPARK_LOCAL_DIRS"
"""Where Spark tells its Python workers which disks are for such files."""


def spill_folder() -> str | None:
    """Where a task may put files aside; None: where all temporary files go."""
    folder = os.environ.get(_LOCAL_FOLDERS, "").partition(",")[0]
    return folder if folder and Path(folder).is_dir() else None


@contextmanager
def _disk_faults() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"the local disk takes no more rows: {error}") from error


class Spill:
    """A file without a name: it is gone when nobody has it any more, even if the process is
    killed."""

    def __init__(self) -> None:
        with _disk_faults():
            self._file = tempfile.TemporaryFile(dir=spill_folder())  # noqa: SIM115  # closed with the last holder
        self._size = 0

    def write(self, data: bytes | memoryview) -> SpilledBytes:
        with _disk_faults():
            self._file.write(data)
        place = SpilledBytes(self, self._size, len(data))
        self._size += len(data)
        return place

    def read(self, start: int, length: int) -> bytes:
        with _disk_faults():
            self._file.flush()
            data = os.pread(self._file.fileno(), length, start)
        if len(data) != length:
            raise StorageError("rows that were put aside on the local disk are gone")
        return data


@dataclass(frozen=True, slots=True)
class SpilledBytes:
    """A piece of a spill."""

    spill: Spill
    start: int
    length: int

    def read(self) -> bytes:
        return self.spill.read(self.start, self.length)
