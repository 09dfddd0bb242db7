"""Segments: one round's fetch list and what became of it, a folder a part.

    segments/20261115093000/crawl_generate/part-00003-1f2e3d4c.parquet …
                                           report.json, manifest.json

A part is there when its manifest is: the manifest is the done-mark, written last, and
names the one committed file of each piece. The manifests of what a parse writes stand
together in one file, SEGMENT/PARSED: a segment can be parsed again, and then all three
parts must change at one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from crawl.clock import as_segment_name
from crawl.errors import NoSnapshot
from crawl.model.report import Report
from crawl.storage.folder import Folder
from crawl.storage.pointer import Pointer
from crawl.storage.snapshot import MANIFEST, REPORT

GENERATE = "crawl_generate"
FETCH = "crawl_fetch"
CONTENT = "content"
FETCH_HOSTS = "fetch_hosts"
"""Of hosts that failed the fetch; there where there were any."""
PARSE = "crawl_parse"
PARSE_DATA = "parse_data"
PARSE_TEXT = "parse_text"
PARSED = (PARSE, PARSE_DATA, PARSE_TEXT)
"""The parts that one parse writes."""


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
    def of_dict(cls, content: Mapping[str, Any]) -> PartManifest:
        files = tuple(PartFile(**file) for file in content["files"])
        return cls(files, content["created_ms"], content.get("complete", True))


class Segment:
    """One segment by its name."""

    def __init__(self, folder: Folder, name: str) -> None:
        self.folder = folder.child(name)
        self.name = name
        self._parsed = Pointer(self.folder, "PARSED")

    def part_folder(self, part: str) -> Folder:
        return self.folder.child(part)

    def manifest(self, part: str) -> PartManifest | None:
        """What the part consists of; None while it is not finished."""
        if part in PARSED:
            content = self.parsed().get(part)
            return None if content is None else PartManifest.of_dict(content)
        raw = self.folder.read(f"{part}/{MANIFEST}")
        try:
            return PartManifest.of_dict(json.loads(raw)) if raw else None
        except ValueError:
            return None  # cut short by a crash: never finished

    def require(self, part: str) -> PartManifest:
        manifest = self.manifest(part)
        if manifest is None:
            raise NoSnapshot(f"{self.folder.address} has no finished {part}")
        return manifest

    def is_done(self, part: str) -> bool:
        return self.manifest(part) is not None

    def write_report(self, part: str, report: Report) -> None:
        self.folder.write(f"{part}/{REPORT}", report.as_json().encode())

    def report(self, part: str) -> dict[str, Any]:
        raw = self.folder.read(f"{part}/{REPORT}")
        content: dict[str, Any] = json.loads(raw) if raw else {}
        return content

    def parsed(self) -> dict[str, Any]:
        """The manifests of what a parse wrote, of one moment; `manifest` gives a single one."""
        return self._parsed.read() or {}

    def publish_parsed(self, manifests: Mapping[str, PartManifest]) -> None:
        """Makes these the parts of the segment's parse, all at once, in place of any before."""
        content = {part: manifest.as_dict() for part, manifest in manifests.items()}
        self._parsed.write(content)

    def sweep(self, part: str, manifest: PartManifest) -> None:
        """Deletes what the manifest does not name: files of tasks that died, and of the part
        before. Whoever reads the folder without the manifest must not find a URL twice."""
        folder = self.part_folder(part)
        folder.drop_uploads()
        kept = {file.path for file in manifest.files}
        for name in folder.names():
            if name.endswith(".parquet") and name not in kept:
                folder.delete(name)

    def publish(self, part: str, manifest: PartManifest) -> None:
        if part in PARSED:
            self._parsed.write({**self.parsed(), part: manifest.as_dict()})
            return
        self.folder.write(f"{part}/{MANIFEST}", json.dumps(manifest.as_dict()).encode())


class Segments:
    """All segments of a crawl."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def segment(self, name: str) -> Segment:
        return Segment(self.folder, name)

    def generated(self) -> list[Segment]:
        """Every segment with a finished fetch list, oldest first."""
        found = (self.segment(name) for name in self.folder.names())
        return [segment for segment in found if segment.is_done(GENERATE)]

    def new_names(self, now_ms: int, count: int) -> list[str]:
        """Names by the clock that no segment bears yet, a second apart."""
        taken = set(self.folder.names())
        names: list[str] = []
        while len(names) < count:
            name = as_segment_name(now_ms)
            if name not in taken:
                names.append(name)
            now_ms += 1000
        return names

    def sweep_unfinished(self) -> None:
        """Deletes fetch lists that a killed generate never finished.

        Only for whoever holds the CrawlDb's lock: nobody else is generating then.
        """
        for name in self.folder.names():
            if not self.segment(name).is_done(GENERATE):
                self.folder.delete(name)

    def complete(self, committed: Mapping[str, Any]) -> list[str]:
        """Publishes the fetch lists that a CrawlDb snapshot committed, where a crash came
        between the snapshot and the segments' own done-marks; returns their names."""
        completed = []
        for name, content in committed.items():
            segment = self.segment(name)
            if not segment.is_done(GENERATE) and segment.part_folder(GENERATE).exists():
                segment.publish(GENERATE, PartManifest.of_dict(content))
                completed.append(name)
        return completed


def committed_note(manifests: Iterable[tuple[str, PartManifest]]) -> dict[str, Any]:
    """The note of a CrawlDb snapshot that commits these fetch lists with it."""
    return {"segments": {name: manifest.as_dict() for name, manifest in manifests}}
