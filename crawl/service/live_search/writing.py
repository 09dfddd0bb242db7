"""Writes the folder that is searched live.

    SERVICE_FOLDER/search/      one writer, one process
    SERVICE_FOLDER/search.json  up to which answers it is committed, and what is missing from it

What is not committed when the process dies is read again from the segments since then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from crawl.errors import StorageError
from crawl.search.writer import EmbeddedIndexWriter
from crawl.service.open_places import OpenPlaces
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import PARSE_DATA, PARSE_TEXT, SERVICE_END, Segment

FOLDER = "search"
_NOTE = "search.json"
_HEAP_BYTES = 32 << 20


class LiveIndex:
    """The writer of the folder. For one thread."""

    def __init__(self, crawl_dir: CrawlDir, folder: Path, stored_characters: int) -> None:
        self._crawl_dir = crawl_dir
        self._place = OpenPlaces([folder], [])
        self._note = folder / _NOTE
        self._writer = EmbeddedIndexWriter(str(folder / FOLDER), _HEAP_BYTES, stored_characters)
        self._newest_ms, self._missing = self._noted()
        """When the last page was fetched that is in it, and the segments of which it has not all
        that came before."""
        self.uncommitted = 0

    def add(self, data: pa.Table, texts: pa.Table) -> None:
        """Adds pages that were parsed, in place of what they were before."""
        text_of = _texts(texts)
        for row in data.to_pylist():
            self._add(row, text_of.get(row["url"], {}))

    def remove(self, urls: Iterable[str]) -> None:
        """Removes pages that are gone."""
        for url in urls:
            self._writer.delete(url)
            self.uncommitted += 1

    def miss(self, name: str) -> None:
        """Notes that pages of a segment were left out."""
        self._missing.add(name)

    def read(self, name: str, since_ms: int = 0) -> None:
        """Adds the pages of a segment; it is missed for longer where it is not published yet."""
        segment = self._crawl_dir.segments.segment(name)
        with suppress(StorageError):  # `crawl check` tells of it
            if segment.is_done(PARSE_DATA):
                for row, text in _rows_since(segment, since_ms):
                    self._add(row, text)
                self._missing.discard(name)

    def catch_up(self) -> None:
        """Adds what published segments have of pages that are missing, or that came since."""
        since_ms, missing = self._newest_ms, set(self._missing)
        for name in sorted(self._crawl_dir.segments.folder.names()):
            if name.endswith(SERVICE_END):
                self.read(name, 0 if name in missing else since_ms)
                missing.discard(name)
        self._missing -= missing  # gone, as `crawl gc` deletes segments

    def commit(self) -> None:
        """Makes visible what was added, and last. Not in a folder that has taken the place of the
        service's: another writes there."""
        self._place.require()
        if self.uncommitted:
            self._writer.commit()
            self.uncommitted = 0
        note = {"newest_ms": self._newest_ms, "missing": sorted(self._missing)}
        self._note.write_text(json.dumps(note))

    def close(self) -> None:
        self.commit()
        self._writer.close()
        self._place.close()

    def _add(self, row: Mapping[str, Any], text: Mapping[str, Any]) -> None:
        fetched_ms = round(row["fetch_time"].timestamp() * 1000)
        self._newest_ms = max(self._newest_ms, fetched_ms)
        self.uncommitted += 1
        if row["status"] != "success" or "noindex" in row["directives"]:
            self._writer.delete(row["url"])
            return
        self._writer.add(
            {
                "url": row["url"],
                "title": row["title"],
                "content": text.get("main_text") or text.get("text") or "",
                "lang": row["language"],
                "type": row["mime_type"],
                "tstamp": fetched_ms,
                "digest": row["signature"] or b"",
            }
        )

    def _noted(self) -> tuple[int, set[str]]:
        try:
            note = json.loads(self._note.read_text())
            return int(note["newest_ms"]), set(map(str, note["missing"]))
        except (OSError, ValueError, KeyError, TypeError):
            return 0, set()


def _texts(table: pa.Table) -> dict[str, Mapping[str, Any]]:
    return {row["url"]: row for row in table.to_pylist()}


def _rows_since(
    segment: Segment, since_ms: int
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The rows of a segment's parse of pages that were fetched since."""
    data, texts = segment.manifest(PARSE_DATA), segment.manifest(PARSE_TEXT)
    if data is None or texts is None or data.created_ms < since_ms:
        return
    text_of: dict[str, Mapping[str, Any]] = {}
    for file in texts.files:
        with open_table(segment.part_folder(PARSE_TEXT), file.path, size=file.bytes) as source:
            for rows in each_group(source):
                text_of |= _texts(rows)
    for file in data.files:
        with open_table(segment.part_folder(PARSE_DATA), file.path, size=file.bytes) as source:
            for rows in each_group(source):
                for row in rows.to_pylist():
                    if row["fetch_time"].timestamp() * 1000 >= since_ms:
                        yield row, text_of.get(row["url"], {})
