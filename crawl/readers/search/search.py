"""Search over a crawl's embedded index, for command line and API alike."""

from __future__ import annotations

import logging
from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import LOCK_STALE_AFTER
from crawl.errors import StorageError
from crawl.hints import command
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.writers import NamedWriter, named_writers
from crawl.readers.search.embedded_index import find_embedded_index
from crawl.search.answers import SearchAnswer, SearchOptions
from crawl.search.folders import MANIFEST, EmbeddedFolders
from crawl.search.index import EmbeddedIndex
from crawl.search.ranking import Weights
from crawl.search.settings import SEARCH_RESULTS_PER_HOST, SEARCH_SNIPPET_LENGTH
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import lock_owner

_log = logging.getLogger(__name__)


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
        index = self._opened(writer, clock)
        options = replace(
            options,
            per_host=self._config[SEARCH_RESULTS_PER_HOST] if per_host is None else per_host,
            snippet_length=self._config[SEARCH_SNIPPET_LENGTH],
        )
        return index.search(query, clock.now_ms(), options)

    def _opened(self, writer: str | None, clock: Clock) -> EmbeddedIndex:
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
                index = EmbeddedIndex(paths, Weights.of(self._config), folders.lists)
                self._indexes[writer] = (paths, index)
                self._warn_of_stale_list(folders, clock)
                return index
            except StorageError:
                if paths == before:
                    raise

    def _warn_of_stale_list(self, folders: EmbeddedFolders, clock: Clock) -> None:
        """Says where a job was interrupted between the ledger, which is searched, and the list
        that others read; not where it is at work."""
        if not folders.is_list_stale():
            return
        owner = lock_owner(self._directory.dataset(INDEX).folder)
        if owner is None or owner.is_dead(clock.now_ms(), self._config[LOCK_STALE_AFTER] * 60_000):
            _log.warning(
                "%s does not name what is published, as a job was interrupted or the file was"
                " damaged: what is searched is what the ledger names, and `%s` completes it",
                folders.folder.path(MANIFEST),
                command("index", self._directory.address),
            )
