"""Searches the crawl's own index and what the service fetched since, as one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import NoSnapshot, StorageError
from crawl.parsing.document import ParsedBatch
from crawl.search.answers import SearchAnswer, SearchOptions
from crawl.search.folders import EmbeddedFolders
from crawl.search.index import EmbeddedIndex
from crawl.search.ranking import Weights
from crawl.search.settings import SEARCH_RESULTS_PER_HOST, SEARCH_SNIPPET_LENGTH
from crawl.service.live_search.feed import SearchFeed
from crawl.service.live_search.writing import FOLDER
from crawl.storage.crawl_dir import CrawlDir

_log = logging.getLogger(__name__)


class LiveSearch:
    """Fed by one thread, searched by any."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        folder: Path,
        config: Config,
        clock: Clock,
        counters: Counters,
    ) -> None:
        self._crawl_dir = crawl_dir
        self._config = config
        self._clock = clock
        self._folder = folder / FOLDER
        self._feed = SearchFeed(crawl_dir, folder, config, clock, counters, self._changed)
        self._weights = Weights.of(config)
        self._opened: tuple[tuple[str, ...], EmbeddedIndex] | None = None
        self._is_stale = True
        self._lock = Lock()

    def start(self) -> None:
        """Has what is fetched appear."""
        self._feed.start()

    def close(self) -> None:
        """Has all that was taken appear, and ends."""
        self._feed.close()

    def take(self, batch: ParsedBatch | None, segment: str, gone: Sequence[str]) -> None:
        """Takes pages that are in an open segment, and the URLs of those that are gone."""
        if gone:
            self._feed.remove(gone)
        if batch is not None:
            self._feed.add(batch, segment)

    def published(self, segment: str) -> None:
        """Says that a segment is published."""
        self._feed.published(segment)

    @property
    def behind_s(self) -> float:
        """For how long pages that were fetched wait to be found; 0 where all can be."""
        return self._feed.behind_s

    def search(self, query: str, options: SearchOptions) -> SearchAnswer:
        """The best pages of the crawl's index and of what was fetched since."""
        options = replace(options, snippet_length=self._config[SEARCH_SNIPPET_LENGTH])
        answer = self._index().search(query, self._clock.now_ms(), options)
        return replace(answer, hits=tuple(_newest_of_each(answer)))

    @property
    def default_per_host(self) -> int:
        per_host: int = self._config[SEARCH_RESULTS_PER_HOST]
        return per_host

    def _changed(self) -> None:
        self._is_stale = True

    def _index(self) -> EmbeddedIndex:
        with self._lock:
            own = (str(self._folder),) if (self._folder / "meta.json").exists() else ()
            paths = (*own, *self._paths_of_crawl())
            if not paths:
                raise NoSnapshot("nothing has been indexed yet: the first pages appear soon")
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
