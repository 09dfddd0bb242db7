"""What a fetch task has finished so far: pieces that survive it, each committed by a mark.

    SEGMENT/crawl_fetch/part-00003-1f2e3d4c.parquet      files of a piece
    SEGMENT/content/part-00003-5a6b7c8d.parquet
    SEGMENT/crawl_fetch/chunks/part-00003/000007.json    the mark that commits both
    SEGMENT/crawl_fetch/chunks/part-00003/LAST.json      a copy of the last mark
    SEGMENT/crawl_fetch/chunks/part-00003/OWNER.json     the task that may commit
    SEGMENT/crawl_fetch/chunks/part-00003/DONE.json      the part is finished

A task claims its part, reads the marks of those before it up to the first that is
missing, and goes on from there; one that is damaged, or missing before others, stops it, for
to go on without would be to fetch again and to delete what was fetched. Nothing comes after
the last mark, whose loss would look as if it had never been written: it has a copy, which
is written after it and from which it is restored. Marks are numbered
and created only if absent, and only by whoever claimed last: a task that was given up for
dead but lives (its driver was killed, its machine was out of reach) cannot add a second
record of a URL. OWNER.json also lists the fetches whose tasks have claimed the part, so that
one that was taken over does not take its part back when its engine tries the task again.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from crawl.errors import DamagedFile, Locked
from crawl.storage.folder import Folder
from crawl.storage.sealed import seal, unseal

CHUNKS = "crawl_fetch/chunks"
"""Where the marks of a segment are: there from the first claim on."""
FOLLOWED = "crawl_fetch/followed"
"""URLs that a fetch under way took on beyond its list (crawl/fetcher/output/followed.py)."""
ROBOTS_LEARNT = "crawl_fetch/robots"
"""Answers for robots.txt that a fetch under way got (crawl/storage/robots_store.py)."""
SERVERS_LEFT = "crawl_fetch/servers"
"""The pauses that tasks of a fetch left (crawl/storage/server_pauses.py)."""
CROSS_PART = "crawl_fetch/cross_part"
"""Authorities that wait until all parts are done (crawl/fetcher/output/part_end.py)."""
DONE = "DONE.json"
OWNER = "OWNER.json"
LAST = "LAST.json"
"""A copy of the last mark and its number. One that is older, damaged or missing tells nothing:
the marks themselves count."""

_MAX_RUNS = 100
"""Fetches that a claim remembers: one is forgotten long after its driver has gone."""

_log = logging.getLogger(__name__)


class SupersededAttempt(Exception):
    """Another attempt of the same fetch has claimed the part. No CrawlError: whoever runs the tasks
    must take it for the end of this attempt, and never for the result of the part, which the
    other attempt is about to bring."""


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
    notes: list[str] = field(default_factory=list)
    """What of the fetch's journal it contains."""
    followed: Piece | None = None
    """URLs that its pages led to and that the fetch took on; no table of the segment."""
    robots: Piece | None = None
    """Answers for robots.txt that came meanwhile. They are no loss: not among `all_pieces`."""

    @property
    def all_pieces(self) -> dict[str, Piece]:
        """Those of the tables, and that of what its pages led to."""
        return self.pieces if self.followed is None else {**self.pieces, FOLLOWED: self.followed}

    @classmethod
    def of_dict(cls, content: Mapping[str, Any]) -> Chunk:
        """Raises TypeError, ValueError, KeyError or AttributeError for what cannot be one."""
        pieces = {name: Piece(**piece) for name, piece in content["pieces"].items()}
        led_to = content.get("followed")
        followed = None if led_to is None else Piece(**led_to)
        learnt = content.get("robots")
        robots = None if learnt is None else Piece(**learnt)
        return cls(pieces, content["counters"], content.get("notes", []), followed, robots)


class ChunkLog:
    """The marks of one part of a fetch list, as one task sees them."""

    def __init__(self, segment: Folder, part: int, run: str = "") -> None:
        self._folder = segment.child(f"{CHUNKS}/part-{part:05d}")
        self.token = uuid.uuid4().hex
        """Whose marks they are."""
        self._run = run or self.token
        """The fetch that this task is an attempt of."""
        self._next = 0

    def claim(self, now_ms: int) -> int | None:
        """Makes this task the only one that may commit; when the task before it claimed
        the part, None for the first. Locked where a later fetch has taken the part over."""
        raw = self._folder.read(OWNER)
        owner = _Owner.of(raw, now_ms)
        if self._run in owner.runs[:-1]:
            raise self._taken_over()
        runs = [*(run for run in owner.runs if run != self._run), self._run][-_MAX_RUNS:]
        claim = json.dumps({"token": self.token, "claimed_ms": now_ms, "runs": runs})
        self._folder.write(OWNER, claim.encode())
        return None if raw is None else owner.claimed_ms

    def is_ours(self) -> bool:
        """Whether no other task has claimed the part since."""
        return _Owner.of(self._folder.read(OWNER), 0).token == self.token

    def committed(self) -> list[Chunk]:
        """All chunks so far; what is committed next comes after them. Restores the last mark
        where it is lost; raises DamagedFile where another one cannot be read."""
        restored = restore_last_mark(self._folder)
        if restored:
            _log.warning(
                "%s was damaged or missing and is restored from its copy",
                self._folder.path(restored),
            )
        chunks: list[Chunk] = []
        while (raw := self._folder.read(mark_name(len(chunks)))) is not None:
            try:
                chunks.append(Chunk.of_dict(unseal(raw)))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                path = self._folder.path(mark_name(len(chunks)))
                raise DamagedFile(path, str(error)) from error
        if mark_name(len(chunks) + 1) <= max(filter(is_mark, self._folder.names()), default=""):
            path = self._folder.path(mark_name(len(chunks)))
            raise DamagedFile(path, "it is missing, and there are later ones")
        self._next = len(chunks)
        return chunks

    def commit(self, chunk: Chunk) -> None:
        name = mark_name(self._next)
        content = asdict(chunk)
        self.require_ours()
        if not self._folder.create(name, seal(content)):
            raise self._taken_over()
        write_last(self._folder, self._next, content)
        self._next += 1

    def finish(self, part_end: dict[str, Any]) -> None:
        self.require_ours()
        self._folder.write(DONE, seal(part_end))

    def finished(self) -> dict[str, Any] | None:
        """What the finished part tells; None while it is not finished, or where that cannot
        be read: whoever goes on then finds that all is done, and says so again."""
        raw = self._folder.read(DONE)
        try:
            return unseal(raw) if raw else None
        except ValueError:
            return None

    def require_ours(self) -> None:
        """Raises what `superseded` returns where another task has claimed the part."""
        if not self.is_ours():
            raise self.superseded()

    def superseded(self) -> Exception:
        """What the end of this task means, whose part another one has claimed: SupersededAttempt
        where that is an attempt of the same fetch, else Locked."""
        owner = _Owner.of(self._folder.read(OWNER), 0)
        if self._run in owner.runs[-1:]:
            return SupersededAttempt(
                f"{self._folder.address}: another attempt has claimed the part"
            )
        return self._taken_over()

    def _taken_over(self) -> Locked:
        return Locked(f"{self._folder.address}: another task is fetching the same part")


@dataclass(frozen=True, slots=True)
class _Owner:
    """The last claim of a part."""

    claimed_ms: int
    token: str = ""
    runs: tuple[str, ...] = ()
    """The fetches whose tasks have claimed it, in the order of their first claims; former releases
    did not list them."""

    @classmethod
    def of(cls, raw: bytes | None, now_ms: int) -> _Owner:
        """One that cannot be read was made just now: its task died in its claim, or is in the
        middle of it."""
        try:
            return msgspec.json.decode(raw or b"", type=cls)
        except ValueError:
            return cls(now_ms)


def write_last(folder: Folder, number: int, content: Mapping[str, Any]) -> None:
    """Copies the mark of that number, which is the part's last one."""
    folder.write(LAST, seal({"number": number, "mark": content}))


def lost_last_mark(folder: Folder) -> tuple[str, bytes, str] | None:
    """The name of the last mark of a part, its content by its copy and what is wrong with it,
    where it is damaged or missing; else None."""
    try:
        copy = unseal(folder.read(LAST) or b"", unsealed=False)
        name, content = mark_name(copy["number"]), copy["mark"]
        Chunk.of_dict(content)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    raw = folder.read(name)
    try:
        if raw is not None:
            unseal(raw)
            return None
        fault = "it is missing"
    except ValueError as error:
        fault = str(error)
    return name, seal(content), fault


def restore_last_mark(folder: Folder) -> str:
    """Writes the last mark of a part again where it is lost; its name, empty where it is not."""
    lost = lost_last_mark(folder)
    if lost is None:
        return ""
    name, content, _ = lost
    folder.write(name, content)
    return name


def mark_name(number: int) -> str:
    return f"{number:06d}.json"


def is_mark(name: str) -> bool:
    return name.endswith(".json") and name.removesuffix(".json").isdecimal()
