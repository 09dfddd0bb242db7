"""The size and the checksum of a file: whether it is as it was written."""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from crawl.storage.folder import Folder

_BLOCK = 1 << 20


class FileSum(NamedTuple):
    """How long a file is, and its CRC-32."""

    bytes: int
    crc: int

    @classmethod
    def of_file(cls, folder: Folder, name: str) -> FileSum:
        """By all that is in the file."""
        size = crc = 0
        with folder.open_read(name) as stream:
            while block := stream.read(_BLOCK):
                size += len(block)
                crc = crc32(block, crc)
        return cls(size, crc)

    def fault(self, size: int) -> str:
        """What is wrong with a file of this size; empty where nothing is."""
        return "" if size == self.bytes else f"it has {size:,} bytes and should have {self.bytes:,}"


def sum_of_bytes(data: bytes) -> FileSum:
    """The sum of a file that was read."""
    return FileSum(len(data), crc32(data))


def file_fault(folder: Folder, name: str, expected: FileSum | None, *, deep: bool) -> str:
    """What is wrong with a file; empty where nothing is. `deep`: all of it is read."""
    size = folder.size(name)
    if size is None:
        return "it is missing"
    if expected is None:
        return ""
    fault = expected.fault(size)
    if fault:
        return fault
    if deep and FileSum.of_file(folder, name) != expected:
        return "its checksum is wrong"
    return ""
