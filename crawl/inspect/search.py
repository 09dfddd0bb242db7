"""Search over a crawl's embedded index, for command line and API alike."""

from __future__ import annotations

from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import StorageError
from crawl.indexing.embedded.answers import SearchAnswer, SearchOptions
from crawl.indexing.embedded.index import EmbeddedIndex
from crawl.indexing.embedded.ranking import Weights
from crawl.indexing.embedded.settings import SEARCH_RESULTS_PER_HOST, SEARCH_SNIPPET_LENGTH
from crawl.indexing.writers import NamedWriter, named_writers
from crawl.inspect.embedded_index import find_embedded_index
from crawl.storage.crawl_dir import CrawlDir


class CrawlSearch:
    """A crawl's indexes, opened when they are first searched and again when they were published
    anew."""

    def __init__(self, directory: CrawlDir, config: Config) -> None:
        self._directory = directory
        self._config = config
        self._writers: list[NamedWriter] | None = None
        self._indexes: dict[str | None, tuple[list[str], EmbeddedIndex]] = {}

    def search(
        self,
        query: str,
        clock: Clock,
        options: SearchOptions,
        per_host: int | None = None,
        writer: str | None = None,
    ) -> SearchAnswer:
        """The best pages; `per_host` None: as the configuration says; `writer`: the index writer
        whose index is asked."""
        index = self._opened(writer)
        options = replace(
            options,
            per_host=self._config[SEARCH_RESULTS_PER_HOST] if per_host is None else per_host,
            snippet_length=self._config[SEARCH_SNIPPET_LENGTH],
        )
        return index.search(query, clock.now_ms(), options)

    def _opened(self, writer: str | None) -> EmbeddedIndex:
        """The index as it is published now. Whoever publishes it anew deletes folders that are
        named no more, also while they are being opened here."""
        if self._writers is None:
            self._writers = named_writers(self._config)
        paths: list[str] = []
        while True:
            folders = find_embedded_index(self._directory, self._writers, writer)
            before, paths = paths, folders.require_paths(self._directory.address)
            opened = self._indexes.get(writer)
            if opened is not None and opened[0] == paths:
                return opened[1]
            try:
                index = EmbeddedIndex(paths, Weights.of(self._config))
                self._indexes[writer] = (paths, index)
                return index
            except StorageError:
                if paths == before:
                    raise
