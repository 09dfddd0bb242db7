"""Search over a crawl's embedded index, for command line and API alike."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import StorageError
from crawl.indexing.embedded.answers import SearchAnswer, SearchOptions
from crawl.indexing.embedded.folders import EMBEDDED, EmbeddedFolders
from crawl.indexing.embedded.index import EmbeddedIndex
from crawl.indexing.embedded.ranking import Weights
from crawl.indexing.embedded.settings import SEARCH_RESULTS_PER_HOST, SEARCH_SNIPPET_LENGTH
from crawl.indexing.outputs import noted_outputs
from crawl.model.derived_tables import INDEX
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder


class CrawlSearch:
    """A crawl's index, opened when it is first searched and again when it was published anew."""

    def __init__(self, directory: CrawlDir, config: Config) -> None:
        self._directory = directory
        self._config = config
        self._paths: list[str] = []
        self._index: EmbeddedIndex | None = None

    def search(
        self, query: str, clock: Clock, options: SearchOptions, per_host: int | None = None
    ) -> SearchAnswer:
        """The best pages; `per_host` None: as the configuration says."""
        index = self._opened()
        options = replace(
            options,
            per_host=self._config[SEARCH_RESULTS_PER_HOST] if per_host is None else per_host,
            snippet_length=self._config[SEARCH_SNIPPET_LENGTH],
        )
        return index.search(query, clock.now_ms(), options)

    def _opened(self) -> EmbeddedIndex:
        """The index as it is published now. Whoever publishes it anew deletes folders that are
        named no more, also while they are being opened here."""
        paths: list[str] = []
        while True:
            before, paths = paths, self._folders().require_paths(self._directory.address)
            if self._index is not None and paths == self._paths:
                return self._index
            try:
                self._index = EmbeddedIndex(paths, Weights.of(self._config))
                self._paths = paths
                return self._index
            except StorageError:
                if paths == before:
                    raise

    def _folders(self) -> EmbeddedFolders:
        """Where the writer put them: its parameter `path` may have named another place."""
        with suppress(StorageError):  # who searches needs no ledger
            ledger = self._directory.dataset(INDEX).current()
            output = noted_outputs(ledger).get(EMBEDDED)
            if output is not None and output.address:
                return EmbeddedFolders(Folder(output.address))
        return EmbeddedFolders.of_crawl(self._directory.address)
