"""Seed files as pieces that tasks read on their own, and as lines of bounded length.

A large plain file is cut by bytes; a piece owns the lines that begin in it. A gzip file
is one piece. Memory is bounded whatever is in the file.
"""

from __future__ import annotations

import gzip
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, cast

from crawl.errors import StorageError, UsageError
from crawl.storage.folder import Folder, absolute, split_address

PIECE_BYTES = 8 << 20
_BLOCK_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class SeedPiece:
    """A range of a seed file; `order` ranks the file among all of the job's."""

    folder: Folder
    name: str
    start: int
    end: int
    gzipped: bool
    order: int

    @property
    def address(self) -> str:
        return self.folder.path(self.name)


@dataclass(frozen=True, slots=True)
class SeedLine:
    """One line; None where it was longer than allowed."""

    offset: int
    raw: bytes | None


@dataclass(frozen=True, slots=True)
class SeedPlan:
    """What there is to read, and what was passed over."""

    pieces: tuple[SeedPiece, ...]
    files: int
    skipped_folders: tuple[str, ...]


def plan_seeds(addresses: list[str], piece_bytes: int = PIECE_BYTES) -> SeedPlan:
    """The pieces of these files, and of the files directly in these folders."""
    pieces: list[SeedPiece] = []
    skipped: list[str] = []
    files = 0
    for address in addresses:
        folder, name = split_address(absolute(address))
        size = folder.size(name)
        if size is not None:
            entries = [(folder, name, size)]
        elif folder.exists(name):
            entries = []
            inside = folder.child(name)
            for entry in inside.names():
                entry_size = inside.size(entry)
                if entry_size is None:
                    skipped.append(inside.path(entry))
                else:
                    entries.append((inside, entry, entry_size))
            if not entries:
                raise UsageError(f"{address}: no seed files in this folder")
        else:
            raise StorageError(f"{address}: no such file or folder")
        for place, entry, entry_size in entries:
            pieces.extend(_pieces(place, entry, entry_size, files, piece_bytes))
            files += 1
    return SeedPlan(tuple(pieces), files, tuple(skipped))


@contextmanager
def seed_files(
    folder: Folder, urls: Sequence[str], files: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """These files, and one of the URLs, which is in the folder, where every executor can read it,
    for as long as the block runs."""
    if not urls:
        yield files
        return
    name = f".seeds-{uuid.uuid4().hex[:8]}.txt"
    folder.write(name, "".join(f"{url}\n" for url in urls).encode())
    try:
        yield (*files, folder.path(name))
    finally:
        folder.delete(name)


def _pieces(
    folder: Folder, name: str, size: int, order: int, piece_bytes: int
) -> Iterator[SeedPiece]:
    with folder.open_read(name) as stream:
        gzipped = stream.read(2) == _GZIP_MAGIC
    step = size if gzipped else piece_bytes
    for start in range(0, max(size, 1), max(step, 1)):
        yield SeedPiece(folder, name, start, min(start + step, size), gzipped, order)


def read_lines(piece: SeedPiece, max_line: int) -> Iterator[SeedLine]:
    """The lines that begin in the piece, without their ends."""
    with piece.folder.open_read(piece.name) as stream:
        if piece.gzipped:
            try:
                with gzip.open(stream) as unpacked:
                    yield from _lines(cast(IO[bytes], unpacked), 0, None, max_line)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise StorageError(f"{piece.address}: damaged gzip file: {error}") from error
        else:
            # start one byte early: if that byte ends a line, a line begins in the piece
            start = max(piece.start - 1, 0)
            stream.seek(start)
            lines = _lines(stream, start, piece.end, max_line)
            if piece.start > 0:
                next(lines, None)  # begun in the piece before
            yield from lines


def _lines(stream: IO[bytes], offset: int, end: int | None, max_line: int) -> Iterator[SeedLine]:
    """Lines from `offset` on; the last one begins before `end`."""
    carry = b""
    carried = 0  # how long the line is so far, kept or not
    while end is None or offset < end:
        block = stream.read(_BLOCK_BYTES)
        if not block:
            break
        *whole, rest = block.split(b"\n")
        for line in whole:
            length = carried + len(line)
            yield _line(offset, carry + line, length, max_line)
            offset += length + 1
            carry, carried = b"", 0
            if end is not None and offset >= end:
                return
        carried += len(rest)
        carry = carry + rest if carried <= max_line else b""
        if end is not None and carried > max_line and offset + carried >= end:
            break  # nothing more begins in the piece, however far the line goes on
    if carried:
        yield _line(offset, carry, carried, max_line)


def _line(offset: int, raw: bytes, length: int, max_line: int) -> SeedLine:
    return SeedLine(offset, raw.removesuffix(b"\r") if length <= max_line else None)
