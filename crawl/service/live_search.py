"""What the service fetched, to be searched within seconds: a folder of the embedded index beside
the crawl's own, which the phase `index` makes. Of a page that both have, the service's counts.

    SERVICE_FOLDER/search/      one writer, this process
    SERVICE_FOLDER/search.json  up to which answers it was committed

What is not committed when the process dies is read again from the segments since then.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import NoSnapshot, StorageError
from crawl.parsing.document import ParsedBatch
from crawl.search.answers import SearchAnswer, SearchOptions
from crawl.search.folders import EmbeddedFolders
from crawl.search.index import EmbeddedIndex
from crawl.search.ranking import Weights
from crawl.search.settings import (
    SEARCH_RESULTS_PER_HOST,
    SEARCH_SNIPPET_LENGTH,
    SEARCH_STORED_CHARACTERS,
)
from crawl.search.writer import EmbeddedIndexWriter
from crawl.service.segment_writer import NAME_END
from crawl.service.settings import SEARCH_SECONDS
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import PARSE_DATA, PARSE_TEXT, Segment

_FOLDER = "search"
_NOTE = "search.json"
_HEAP_BYTES = 32 << 20

_log = logging.getLogger(__name__)


class LiveSearch:
    """Written by one thread, searched by any."""

    def __init__(self, crawl_dir: CrawlDir, folder: Path, config: Config, clock: Clock) -> None:
        self._crawl_dir = crawl_dir
        self._config = config
        self._clock = clock
        self._note = folder / _NOTE
        self._folder = str(folder / _FOLDER)
        self._writer = EmbeddedIndexWriter(
            self._folder, _HEAP_BYTES, config[SEARCH_STORED_CHARACTERS]
        )
        self._weights = Weights.of(config)
        self._every_s: float = config[SEARCH_SECONDS]
        self._uncommitted = 0
        self._committed_at = clock.monotonic()
        self._newest_ms = self._committed_ms()
        self._opened: tuple[tuple[str, ...], EmbeddedIndex] | None = None
        self._is_stale = True
        self._lock = Lock()

    def add(self, batch: ParsedBatch) -> None:
        """Adds pages that were parsed, in place of what they were before."""
        texts = _texts(batch.parse_text)
        for row in batch.parse_data.to_pylist():
            self._add(row, texts.get(row["url"], {}))

    def remove(self, urls: Iterable[str]) -> None:
        """Removes pages that are gone."""
        for url in urls:
            self._writer.delete(url)
            self._uncommitted += 1

    def catch_up(self) -> int:
        """Adds what segments have of answers since the last commit; how many pages."""
        since_ms, before = self._newest_ms, self._uncommitted
        for name in sorted(self._crawl_dir.segments.folder.names()):
            if name.endswith(NAME_END):
                segment = self._crawl_dir.segments.segment(name)
                with suppress(StorageError):  # `crawl check` tells of it
                    for row, text in _rows_since(segment, since_ms):
                        self._add(row, text)
        self.commit()
        return self._uncommitted - before

    def commit_if_due(self) -> None:
        """Makes visible what was added, now and then; to be called often."""
        now = self._clock.monotonic()
        if self._uncommitted and now - self._committed_at >= self._every_s:
            self.commit()

    @property
    def behind_s(self) -> float:
        """For how long what was added cannot be found yet; 0 where all can."""
        return self._clock.monotonic() - self._committed_at if self._uncommitted else 0.0

    def commit(self) -> None:
        """Makes visible what was added, and last."""
        if self._uncommitted:
            self._writer.commit()
            self._note.write_text(json.dumps({"committed_ms": self._newest_ms}))
            self._uncommitted = 0
        self._committed_at = self._clock.monotonic()
        self._is_stale = True

    def close(self) -> None:
        self.commit()
        self._writer.close()

    def search(self, query: str, options: SearchOptions) -> SearchAnswer:
        """The best pages of the crawl's index and of what was fetched since."""
        options = replace(options, snippet_length=self._config[SEARCH_SNIPPET_LENGTH])
        answer = self._index().search(query, self._clock.now_ms(), options)
        return replace(answer, hits=tuple(_newest_of_each(answer)))

    @property
    def default_per_host(self) -> int:
        per_host: int = self._config[SEARCH_RESULTS_PER_HOST]
        return per_host

    def _index(self) -> EmbeddedIndex:
        with self._lock:
            paths = (self._folder, *self._paths_of_crawl())
            if self._opened is None or self._is_stale or self._opened[0] != paths:
                self._is_stale = False
                self._opened = paths, EmbeddedIndex(paths, self._weights)
            return self._opened[1]

    def _paths_of_crawl(self) -> list[str]:
        """Those of the crawl's own index; none where there is none, or where it is damaged: what
        the service fetched is found all the same."""
        try:
            folders = EmbeddedFolders.of_crawl(self._crawl_dir.address)
            return folders.require_paths(self._crawl_dir.address) if folders.is_begun() else []
        except NoSnapshot:
            return []
        except StorageError as error:
            _log.warning("the crawl's own index is not searched: %s", error)
            return []

    def _add(self, row: Mapping[str, Any], text: Mapping[str, Any]) -> None:
        if row["status"] != "success" or "noindex" in row["directives"]:
            return
        fetched_ms = round(row["fetch_time"].timestamp() * 1000)
        self._newest_ms = max(self._newest_ms, fetched_ms)
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
        self._uncommitted += 1

    def _committed_ms(self) -> int:
        try:
            return int(json.loads(self._note.read_text())["committed_ms"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0


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


def _newest_of_each(answer: SearchAnswer) -> Iterator[Any]:
    """The hits, but for those of a URL of which a later state is among them."""
    newest: dict[str, int] = {}
    for hit in answer.hits:
        newest[hit.record.url] = max(newest.get(hit.record.url, 0), hit.record.fetched_ms)
    seen: set[str] = set()
    for hit in answer.hits:
        url = hit.record.url
        if hit.record.fetched_ms == newest[url] and url not in seen:
            seen.add(url)
            yield replace(hit, place=len(seen))
