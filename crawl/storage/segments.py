"""Segments: one round's fetch list and what became of it, a folder a part.

    segments/20261115093000/crawl_generate/part-00003-1f2e3d4c.parquet …
                                           report.json, manifest.json

A part is there when its manifest is: the manifest is the done-mark, written last, and
names the one committed file of each piece. The manifests of what a parse writes stand
together in one file, SEGMENT/PARSED: a segment can be parsed again, and then all three
parts must change at one moment.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from crawl.clock import as_segment_name
from crawl.errors import DamagedFile, NoSnapshot, StorageError
from crawl.model import tables
from crawl.model.report import Report
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder
from crawl.storage.lock import CHANGE_NAME, LOCK_NAME, Lock
from crawl.storage.reports import read_report, write_report
from crawl.storage.sealed_file import SealedFile
from crawl.storage.snapshot import MANIFEST, REPORT

GENERATE = "crawl_generate"
FETCH = "crawl_fetch"
CONTENT = "content"
FETCH_HOSTS = "fetch_hosts"
"""Hosts that failed the fetch; written only where there were any."""
FETCHED = (GENERATE, FETCH, FETCH_HOSTS, CONTENT)
"""The parts that have a manifest of their own."""
PARSE = "crawl_parse"
PARSE_DATA = "parse_data"
PARSE_TEXT = "parse_text"
PARSED = (PARSE, PARSE_DATA, PARSE_TEXT)
"""The parts that one parse writes."""
SERVICE = "SERVICE"
"""The mark of a segment that a service fills, or filled; it has no fetch list until it is published
as a whole."""
SERVICE_END = "-service"
"""So ends its name, which is none that generate would choose, and still one that sorts by time."""
POINTER = "PARSED"
"""The file with the manifests of those."""

SEGMENT_TABLES = {
    GENERATE: tables.CRAWL_GENERATE,
    FETCH: tables.CRAWL_FETCH,
    FETCH_HOSTS: tables.FETCH_HOSTS,
    CONTENT: tables.CONTENT,
    PARSE: tables.CRAWL_PARSE,
    PARSE_DATA: tables.PARSE_DATA,
    PARSE_TEXT: tables.PARSE_TEXT,
}
"""What is stored in which part of a segment."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PartFile:
    """One file of a part; its path is relative to the part's folder."""

    part: int
    path: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PartManifest:
    """A finished part of a segment."""

    files: tuple[PartFile, ...]
    created_ms: int
    complete: bool = True
    """False where the work was interrupted: what is there is whole, and more can come."""

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_pieces(
        cls, pieces: Iterable[tuple[int, Piece | None]], created_ms: int, complete: bool = True
    ) -> PartManifest:
        """Of the files that tasks have written, by the numbers of their parts."""
        files = (PartFile(part, each.path, each.rows, each.bytes) for part, each in pieces if each)
        return cls(tuple(sorted(files, key=lambda file: file.part)), created_ms, complete)

    @classmethod
    def of_dict(cls, content: Mapping[str, Any]) -> PartManifest:
        """Raises TypeError, ValueError or KeyError for what cannot be a manifest."""
        files = tuple(PartFile(**file) for file in content["files"])
        counts = [count for file in files for count in (file.part, file.rows, file.bytes)]
        if any(type(count) is not int or count < 0 for count in counts):
            raise ValueError("a number in it is none")
        return cls(files, content["created_ms"], content.get("complete", True))


class Segment:
    """One segment by its name."""

    def __init__(self, folder: Folder, name: str, lock: Lock | None = None) -> None:
        self.folder = lock.folder if lock else folder.child(name)
        self.name = name
        self.pointer = SealedFile(self.folder, POINTER, unsealed=False)
        self._parent = folder
        self._lock = lock

    def held_by(self, lock: Lock) -> Segment:
        """The segment for the holder of its lock, to publish what it made of what is there now:
        a publication fails with Locked where another has published since. Nothing else is needed
        to keep a former holder out: what it publishes before its successor does is as whole, for
        nobody deletes what is committed or was named by a parse before its own is published.
        Files that a killed holder before it did not come to copy are mended."""
        held = Segment(self._parent, self.name, lock)
        for part in (PARSE, CONTENT, FETCH, FETCH_HOSTS):
            with suppress(DamagedFile):
                file = held.manifest_file(part)
                if lock.took_over or file.look()[1]:
                    file.heal()
        return held

    def part_folder(self, part: str) -> Folder:
        return self.folder.child(part)

    def manifest(self, part: str) -> PartManifest | None:
        """What the part consists of; None while it is not finished."""
        file = self.manifest_file(part)
        content = file.read()
        if content is not None and part in PARSED:
            content = content.get(part)
        try:
            return None if content is None else PartManifest.of_dict(content)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DamagedFile(self.folder.path(file.name), str(error)) from error

    def manifest_file(self, part: str) -> SealedFile:
        """The file in which the part's manifest stands."""
        if part in PARSED:
            return self.pointer
        return SealedFile(self.folder, f"{part}/{MANIFEST}")

    def require(self, part: str) -> PartManifest:
        manifest = self.manifest(part)
        if manifest is None:
            raise NoSnapshot(f"{self.folder.address} has no finished {part}")
        return manifest

    def is_done(self, part: str) -> bool:
        return self.manifest(part) is not None

    def is_complete(self, part: str) -> bool:
        """Whether it is done, and nothing more can come."""
        manifest = self.manifest(part)
        return manifest is not None and manifest.complete

    def write_report(self, part: str, report: Report) -> None:
        write_report(self.folder, f"{part}/{REPORT}", report)

    def report(self, part: str) -> dict[str, Any]:
        return read_report(self.folder, f"{part}/{REPORT}")

    def parsed(self) -> dict[str, Any]:
        """The manifests of what a parse wrote, of one moment; `manifest` gives a single one."""
        return self.pointer.read() or {}

    def publish_parsed(self, manifests: Mapping[str, PartManifest]) -> None:
        """Makes these the parts of the segment's parse, all at once, in place of any before."""
        content = {part: manifest.as_dict() for part, manifest in manifests.items()}
        self.pointer.write(content)

    def sweep(self, part: str, manifest: PartManifest) -> None:
        """Deletes what neither this manifest nor the published one names: files of tasks that
        died, and of the part before. Whoever reads the folder without the manifest must not
        find a URL twice."""
        folder = self.part_folder(part)
        present = self.manifest(part)
        named = {file.path for each in (manifest, present) if each for file in each.files}
        names = folder.names()
        if self._lock is not None:
            self._lock.verify()  # what a successor has written by now is on no list
        folder.drop_uploads()
        for name in names:
            if name.endswith(".parquet") and name not in named:
                folder.delete(name)

    def publish(self, part: str, manifest: PartManifest) -> None:
        content = manifest.as_dict()
        whole = {**self.parsed(), part: content} if part in PARSED else content
        self.manifest_file(part).write(whole)


def segment_name(name_or_path: str) -> str:
    """The name of a segment that a user gave as a name or as a path."""
    return name_or_path.rstrip("/").rpartition("/")[2]


def is_of_service(name: str) -> bool:
    """Whether a segment of that name is a service's."""
    return name.endswith(SERVICE_END)


class Segments:
    """All segments of a crawl."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def segment(self, name: str) -> Segment:
        return Segment(self.folder, name)

    def generated(self) -> list[Segment]:
        """Every segment with a finished fetch list, oldest first."""
        segments = map(self.segment, self.folder.names())
        return [segment for segment in segments if segment.is_done(GENERATE)]

    def open_of_service(self) -> list[Segment]:
        """The segments that a service fills, or has left open when it died, oldest first."""
        segments = map(self.segment, filter(is_of_service, self.folder.names()))
        return [segment for segment in segments if self._is_open(segment)]

    def untidy_of_service(self) -> list[Segment]:
        """The segments of a service that are published and yet locked, or have a copy alone of what
        says so: whoever published them is about to let go of them, or died before it had."""
        segments = map(self.segment, filter(is_of_service, self.folder.names()))
        return [segment for segment in segments if self._is_untidy(segment)]

    def _is_untidy(self, segment: Segment) -> bool:
        try:
            content, is_copy = segment.manifest_file(GENERATE).look()
        except StorageError:  # damaged: `crawl check` tells of it, and mends it
            return False
        locks = (LOCK_NAME, CHANGE_NAME)
        return content is not None and (is_copy or any(map(segment.folder.exists, locks)))

    def _is_open(self, segment: Segment) -> bool:
        try:
            return segment.folder.exists(SERVICE) and not segment.is_done(GENERATE)
        except StorageError:  # damaged: `crawl check` tells of it, and mends it
            return False

    def new_names(self, now_ms: int, count: int) -> list[str]:
        """Names by the clock that no segment bears yet, a second apart."""
        present = set(self.folder.names())
        names = map(as_segment_name, itertools.count(now_ms, 1000))
        return list(islice((name for name in names if name not in present), count))

    def sweep_unfinished(self) -> None:
        """Deletes fetch lists that a killed generate never finished. A segment of which there
        is more, or whose manifest is damaged, is no such list and stays.

        Only for whoever holds the CrawlDb's lock: nobody else is generating then.
        """
        for name in self.folder.names():
            segment = self.segment(name)
            if is_of_service(name):
                continue  # its own: a service that starts publishes what another left open
            try:
                if segment.is_done(GENERATE):
                    continue
            except StorageError as error:
                _log.warning("%s; the segment is passed over", error)
                continue
            if set(segment.folder.names()) <= {GENERATE}:
                self.folder.delete(name)
            else:
                _log.warning(
                    "%s has no finished %s, but more than that: it is left alone",
                    *(segment.folder.address, GENERATE),
                )

    def complete(self, committed: Mapping[str, Any]) -> list[str]:
        """Publishes the fetch lists that a CrawlDb snapshot committed, where a crash came
        between the snapshot and the segments' own done-marks; returns their names."""
        completed = []
        for name, content in committed.items():
            segment = self.segment(name)
            file = segment.manifest_file(GENERATE)
            present, is_copy = file.look()
            if is_copy:
                file.heal()
            if present is None and segment.part_folder(GENERATE).exists():
                segment.publish(GENERATE, PartManifest.of_dict(content))
                completed.append(name)
        return completed


def committed_note(manifests: Iterable[tuple[str, PartManifest]]) -> dict[str, Any]:
    """The note of a CrawlDb snapshot that commits these fetch lists with it."""
    return {"segments": {name: manifest.as_dict() for name, manifest in manifests}}
