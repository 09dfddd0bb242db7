"""Brings a damaged crawl back to its newest whole state.

What can be read from a copy is written again. The CrawlDb goes to the newest snapshot that
is whole, and so does every other dataset (repair_datasets.py). A segment goes back to the last
step of which all is there: to be fetched again as far as pages were lost, or parsed again.
Whatever is of no use any more is moved to CRAWL_DIR/quarantine/MOMENT/…, and nothing is deleted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial

from crawl.clock import Clock, as_segment_name
from crawl.config import Config
from crawl.errors import StorageError
from crawl.storage import chunks
from crawl.storage.checking import (
    CheckResult,
    chunk_marks,
    is_fetched,
    parts_begun,
    whole_manifest,
)
from crawl.storage.chunks import Chunk
from crawl.storage.crawl_dir import CrawlDir, locked
from crawl.storage.footer import read_footer
from crawl.storage.lock import Lock
from crawl.storage.quarantine import QUARANTINE, Quarantine
from crawl.storage.repair_datasets import DatasetRepair
from crawl.storage.sealed import unseal
from crawl.storage.segments import (
    CONTENT,
    FETCH,
    FETCH_HOSTS,
    FETCHED,
    GENERATE,
    PARSE,
    PARSED,
    PartFile,
    PartManifest,
    Segment,
)
from crawl.storage.snapshot import Dataset

_PART = re.compile(r"part-(\d+)-[0-9a-f]+\.parquet")


@dataclass(frozen=True, slots=True)
class _SegmentRepair:
    """Mends one segment after the other. Only for whoever holds their locks."""

    job: Quarantine

    def mend(self, segment: Segment, *, applied: bool) -> None:
        where = f"segments/{segment.name}"
        self.job.reports(where)
        for part in (*FETCHED, PARSE):
            file = segment.manifest_file(part)
            try:
                if file.heal():
                    self.job.actions.append(f"made {where}/{file.name} and its copy the same")
            except StorageError:
                continue  # both are damaged
        if not self._list_is_usable(segment):
            self.job.set_aside(where)
            return
        if any(path.startswith(f"{where}/{FETCH_HOSTS}/") for path in self.job.bad):
            self.job.set_aside(f"{where}/{FETCH_HOSTS}")  # their hosts are tried again, that is all
        restored = self._restored_marks(segment)
        lost = [
            path.split("/")[2]
            for path in self.job.bad - restored
            if path.startswith(f"{where}/") and (path.endswith(".parquet") or chunks.CHUNKS in path)
        ]
        fetch_lost = self._is_lost(segment, FETCH) or self._is_lost(segment, CONTENT)
        tables_lost = any(part in (FETCH, CONTENT) for part in lost)
        parse_lost = self._is_lost(segment, PARSE) or any(part in PARSED for part in lost)
        if parse_lost and not applied and not self._can_parse_again(segment):
            fetch_lost = True  # which parsed it
        if applied and not fetch_lost and not self._is_lost(segment, PARSE):
            self._without_lost_files(segment)
            return
        if parse_lost or fetch_lost:
            self._take_back(segment, (segment.pointer.name, segment.pointer.copy))
            if self._can_parse_again(segment):
                for part in PARSED:
                    self._set_aside_tables(segment, part, only_bad=False)
        if fetch_lost or (tables_lost and not applied):
            for part in (FETCH, CONTENT):
                file = segment.manifest_file(part)
                self._take_back(segment, (file.name, file.copy))
            self._drop_lost_chunks(segment)

    def _is_lost(self, segment: Segment, part: str) -> bool:
        try:
            segment.manifest(part)
        except StorageError:
            return True
        return False

    def _can_parse_again(self, segment: Segment) -> bool:
        stored = whole_manifest(segment, CONTENT)
        return stored is not None and stored.rows > 0

    def _list_is_usable(self, segment: Segment) -> bool:
        """Whether the fetch list is there, if need be without a file that was lost."""
        where = f"segments/{segment.name}/{GENERATE}"
        try:
            present = segment.manifest(GENERATE)
        except StorageError:
            rebuilt = self._list_found(segment)
            if rebuilt is None:
                return False
            file = segment.manifest_file(GENERATE)
            self._take_back(segment, (file.name, file.copy))
            segment.publish(GENERATE, rebuilt)
            self.job.actions.append(f"wrote {where}/{file.name} by the files that are there")
            return True
        whole = self._whole_files(segment, GENERATE, present)
        if present is None or whole == present.files:
            return True
        if not whole or (parts_begun(segment) and not is_fetched(segment)):
            return False
        segment.publish(GENERATE, replace(present, files=whole))
        self._set_aside_tables(segment, GENERATE)
        return True

    def _list_found(self, segment: Segment) -> PartManifest | None:
        """The list by its files, where they leave no doubt: one for each part, all whole."""
        folder = segment.part_folder(GENERATE)
        files: dict[int, PartFile] = {}
        for name, size in folder.files().items():
            match = _PART.fullmatch(name)
            if match is None:
                continue
            number = int(match[1])
            try:
                with folder.open_read(name) as stream:
                    rows = read_footer(stream).num_rows
            except (StorageError, ValueError, OSError):
                return None
            if number in files:
                return None
            files[number] = PartFile(number, name, rows, size)
        return PartManifest(tuple(files[number] for number in sorted(files)), 0) if files else None

    def _without_lost_files(self, segment: Segment) -> None:
        """The CrawlDb has taken the segment in: what is left of it stays as it is."""
        for part in (FETCH, CONTENT, *PARSED):
            present = whole_manifest(segment, part)
            whole = self._whole_files(segment, part, present)
            if present is not None and whole != present.files:
                segment.publish(part, replace(present, files=whole))
                self._set_aside_tables(segment, part)

    def _whole_files(
        self, segment: Segment, part: str, manifest: PartManifest | None
    ) -> tuple[PartFile, ...]:
        where = f"segments/{segment.name}/{part}"
        files = manifest.files if manifest else ()
        return tuple(file for file in files if f"{where}/{file.path}" not in self.job.bad)

    def _set_aside_tables(self, segment: Segment, part: str, *, only_bad: bool = True) -> None:
        for name in segment.part_folder(part).names():
            path = f"segments/{segment.name}/{part}/{name}"
            if name.endswith(".parquet") and (path in self.job.bad or not only_bad):
                self.job.set_aside(path)

    def _take_back(self, segment: Segment, names: tuple[str, ...]) -> None:
        for name in names:
            if segment.folder.exists(name):
                self.job.set_aside(f"segments/{segment.name}/{name}")

    def _restored_marks(self, segment: Segment) -> set[str]:
        """Writes the last marks again that are lost and have a copy; their paths."""
        restored = set()
        for part in parts_begun(segment):
            place = f"{chunks.CHUNKS}/part-{part:05d}"
            name = chunks.restore_last_mark(segment.folder.child(place))
            if name:
                restored.add(f"segments/{segment.name}/{place}/{name}")
        self.job.actions += [f"wrote {path} from its copy" for path in sorted(restored)]
        return restored

    def _drop_lost_chunks(self, segment: Segment) -> None:
        """A chunk of which something was lost is fetched again; the others stay."""
        where = f"segments/{segment.name}"
        for part in parts_begun(segment):
            marks = list(chunk_marks(segment, part))
            whole = [
                (path, chunk)
                for path, chunk, fault in marks
                if chunk is not None
                and not fault
                and not any(
                    f"{where}/{table}/{piece.path}" in self.job.bad
                    for table, piece in chunk.all_pieces.items()
                )
            ]
            if len(whole) == len(marks):
                continue
            self._set_aside_pieces(segment, marks, {path for path, _ in whole})
            place = f"{chunks.CHUNKS}/part-{part:05d}"
            contents = [segment.folder.read(path) or b"" for path, _ in whole]
            self._take_back(segment, (f"{place}/{chunks.LAST}",))  # first: it tells of a last mark
            for name in filter(chunks.is_mark, segment.folder.names(place)):
                self.job.set_aside(f"{where}/{place}/{name}")
            self._take_back(segment, (f"{place}/{chunks.DONE}",))
            for number, content in enumerate(contents):
                segment.folder.write(f"{place}/{chunks.mark_name(number)}", content)
            if contents:
                last = unseal(contents[-1])
                chunks.write_last(segment.folder.child(place), len(contents) - 1, last)

    def _set_aside_pieces(
        self, segment: Segment, marks: list[tuple[str, Chunk | None, str]], whole: set[str]
    ) -> None:
        for path, chunk, _ in marks:
            for table, piece in chunk.all_pieces.items() if chunk and path not in whole else ():
                if segment.part_folder(table).exists(piece.path):
                    self.job.set_aside(f"segments/{segment.name}/{table}/{piece.path}")


def repair(
    directory: CrawlDir,
    checked: CheckResult,
    config: Config,
    clock: Clock,
    *,
    steal_lock: bool = False,
) -> list[str]:
    """Repairs what the check found; lines that tell what was done."""
    bad = frozenset(fault.path for fault in (*checked.faults, *checked.leftovers))
    job = Quarantine(directory, bad, f"{QUARANTINE}/{as_segment_name(clock.now_ms())}")
    hold = partial(locked, command="check", config=config, clock=clock, steal_lock=steal_lock)
    crawldb = directory.crawldb
    with hold(crawldb.folder, shut_out=crawldb.shut_out) as lock:
        _repair_dataset(job, crawldb, lock)
        try:
            current = directory.crawldb.current()
        except StorageError:
            current = None
        for name in sorted({path.split("/")[1] for path in bad if path.startswith("segments/")}):
            segment = directory.segments.segment(name)
            with hold(segment.folder):
                applied = current is not None and name in current.applied
                _SegmentRepair(job).mend(segment, applied=applied)
            if not segment.folder.files():
                directory.segments.folder.delete(name)
    for dataset in directory.datasets()[1:]:
        with hold(dataset.folder, shut_out=dataset.shut_out) as lock:
            _repair_dataset(job, dataset, lock)
    segments = map(directory.segments.segment, directory.segments.folder.names())
    job.actions += directory.remove_dead_locks(segments, "check", config, clock)
    return job.actions


def _repair_dataset(job: Quarantine, dataset: Dataset, lock: Lock) -> None:
    name = dataset.name
    if any(path == name or path.startswith(f"{name}/") for path in job.bad):
        DatasetRepair(job).mend(dataset, dataset.pointer.guarded(lock.folder))
