"""What a fetch task has finished so far: pieces that survive it, each committed by a mark.

    SEGMENT/crawl_fetch/part-00003-1f2e3d4c.parquet      files of a piece
    SEGMENT/content/part-00003-5a6b7c8d.parquet
    SEGMENT/crawl_fetch/chunks/part-00003/000007.json    the mark that commits both
    SEGMENT/crawl_fetch/chunks/part-00003/DONE.json      the part is finished

Marks are numbered and created only if absent. A task that goes on where another one
died reads the marks up to the first that is missing; of two that are at work on one part
by mistake, the one that finds its mark taken gives up, so no URL gets two records.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from crawl.errors import StorageError
from crawl.storage.folder import Folder

DONE = "DONE.json"


@dataclass(frozen=True, slots=True)
class Piece:
    """One file of a table."""

    path: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Files that were committed together, by the segment part they belong to."""

    pieces: dict[str, Piece] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)


class ChunkLog:
    """The marks of one part of a fetch list."""

    def __init__(self, segment: Folder, part: int) -> None:
        self._folder = segment.child(f"crawl_fetch/chunks/part-{part:05d}")
        self._next = 0

    def committed(self) -> list[Chunk]:
        """All chunks so far; what is committed next comes after them."""
        chunks: list[Chunk] = []
        while (raw := self._folder.read(f"{len(chunks):06d}.json")) is not None:
            try:
                content = json.loads(raw)
                pieces = {name: Piece(**piece) for name, piece in content["pieces"].items()}
                chunks.append(Chunk(pieces, content["counters"]))
            except (ValueError, TypeError, KeyError):
                # a mark that its writer died in commits nothing: it is written over
                self._folder.delete(f"{len(chunks):06d}.json")
                break
        self._next = len(chunks)
        return chunks

    def commit(self, chunk: Chunk) -> None:
        name = f"{self._next:06d}.json"
        if not self._folder.create(name, json.dumps(asdict(chunk)).encode()):
            raise StorageError(f"{self._folder.path(name)}: another task is fetching the same part")
        self._next += 1

    def finish(self, told: dict[str, Any]) -> None:
        self._folder.write(DONE, json.dumps(told).encode())

    def finished(self) -> dict[str, Any] | None:
        """What the finished part tells; None while it is not finished."""
        raw = self._folder.read(DONE)
        try:
            content: dict[str, Any] | None = json.loads(raw) if raw else None
        except ValueError:
            return None
        return content
