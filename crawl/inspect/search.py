"""Search over a crawl's embedded index, for command line and API alike."""

from __future__ import annotations

from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.indexing.embedded.answers import SearchAnswer, SearchOptions
from crawl.indexing.embedded.folders import EmbeddedFolders
from crawl.indexing.embedded.index import EmbeddedIndex
from crawl.indexing.embedded.ranking import Weights
from crawl.indexing.embedded.settings import SEARCH_RESULTS_PER_HOST, SEARCH_SNIPPET_LENGTH
from crawl.storage.crawl_dir import CrawlDir


class CrawlSearch:
    """A crawl's index, opened when it is first searched and again when it was published anew."""

    def __init__(self, directory: CrawlDir, config: Config) -> None:
        self._address = directory.address
        self._folders = EmbeddedFolders.of_crawl(directory.address)
        self._config = config
        self._paths: list[str] = []
        self._index: EmbeddedIndex | None = None

    def search(
        self, query: str, clock: Clock, options: SearchOptions, per_host: int | None = None
    ) -> SearchAnswer:
        """The best pages; `per_host` None: as the configuration says."""
        paths = self._folders.require_paths(self._address)
        if self._index is None or paths != self._paths:
            self._index = EmbeddedIndex(paths, Weights.of(self._config))
            self._paths = paths
        options = replace(
            options,
            per_host=self._config[SEARCH_RESULTS_PER_HOST] if per_host is None else per_host,
            snippet_length=self._config[SEARCH_SNIPPET_LENGTH],
        )
        return self._index.search(query, clock.now_ms(), options)
