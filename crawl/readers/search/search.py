"""Search over a crawl's embedded index, for command line and API alike."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import LOCK_STALE_AFTER
from crawl.did_you_mean import did_you_mean
from crawl.errors import NoSnapshot, PluginError, StorageError, UsageError
from crawl.hints import command
from crawl.interfaces.registry import resolve
from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.outputs import WriterOutput, noted_folder, noted_outputs
from crawl.phases.index.tasks.writers import NamedWriter, named_writers, resolved_path
from crawl.search.answers import SearchAnswer, SearchOptions
from crawl.search.file_sums import FORMAT_FILE
from crawl.search.folders import EMBEDDED, MANIFEST, EmbeddedFolders
from crawl.search.index import EmbeddedIndex
from crawl.search.ranking import Weights
from crawl.search.settings import SEARCH_RESULTS_PER_HOST, SEARCH_SNIPPET_LENGTH
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder, absolute
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


def find_embedded_index(
    directory: CrawlDir, writers: Iterable[NamedWriter], writer: str | None = None
) -> EmbeddedFolders:
    """The index of this writer; else that of the active writers, and where they have none,
    the only one that there is. Raises UsageError where there are several."""
    indexes = _KnownIndexes(directory, {each.id: each for each in writers})
    if writer is not None:
        return indexes.require(writer)
    begun = indexes.begun(indexes.active()) or indexes.begun(indexes.others())
    if len(begun) > 1:
        raise UsageError(
            f"{directory.address} has the embedded indexes of several index writers"
            f" ({', '.join(begun)}): choose one (--writer)"
        )
    for folders in begun.values():
        return folders
    raise indexes.absent()


class _KnownIndexes:
    """What the configuration and the ledger say of a crawl's writers."""

    def __init__(self, directory: CrawlDir, writers: Mapping[str, NamedWriter]) -> None:
        self._directory = directory
        self._writers = writers
        self._outputs: Mapping[str, WriterOutput] = {}
        with suppress(StorageError):  # who searches needs no ledger
            self._outputs = noted_outputs(directory.dataset(INDEX).current())

    def active(self) -> list[str]:
        """The ids of active writers that have an embedded index."""
        return [
            each.id
            for each in self._writers.values()
            if each.is_active and is_embedded(each.plugin)
        ]

    def others(self) -> Iterator[str]:
        """Those of other writers, also of some that the configuration no longer names."""
        for each in self._writers.values():
            if not each.is_active and is_embedded(each.plugin):
                yield each.id
        for writer, output in self._outputs.items():
            if writer not in self._writers and self._is_embedded_output(writer, output):
                yield writer

    def begun(self, writers: Iterable[str]) -> dict[str, EmbeddedFolders]:
        """The indexes that were ever written, by writer."""
        places = {writer: self._folders(writer) for writer in writers}
        return {
            writer: folders
            for writer, folders in places.items()
            if self._has_shards(writer) or folders.is_begun()
        }

    def require(self, writer: str) -> EmbeddedFolders:
        """The index of this writer; raises UsageError where it has none of this kind."""
        ids = [*self.active(), *self.others()]
        if writer not in (*ids, EMBEDDED):
            begun = self.begun(ids)
            there = f" (there is {', '.join(begun)})" if begun else ""
            if writer in (*self._writers, *self._outputs):
                raise UsageError(f"the index writer {writer} has no embedded index{there}")
            near = did_you_mean(writer, begun) or there
            raise UsageError(f"no index writer is called {writer!r}{near}")
        folders = self._folders(writer)
        if not folders.is_begun() and not self._has_shards(writer):
            hint = command("index", self._directory.address, f"-D index.writers={writer}")
            raise NoSnapshot(
                f"{self._directory.address} has no embedded index of the index writer {writer} yet:"
                f" `{hint}` makes one"
            )
        return folders

    def absent(self) -> NoSnapshot:
        """There is no index, and what makes one."""
        words = []
        if not self.active():
            listed = next(self.others(), EMBEDDED)
            words = [f"-D index.writers={listed}"]
        hint = command("index", self._directory.address, *words)
        return NoSnapshot(
            f"{self._directory.address} has no embedded index yet: `{hint}` makes one"
        )

    def _has_shards(self, writer: str) -> bool:
        return writer in self._outputs and bool(self._outputs[writer].shards)

    def _folders(self, writer: str) -> EmbeddedFolders:
        """Where the writer put them: its parameter `path` may have named another place."""
        output = self._outputs.get(writer)
        if output is not None:
            ledger = {name: output.sums.get(shard) for shard, name in sorted(output.shards.items())}
            return EmbeddedFolders(noted_folder(self._directory, writer, output), ledger)
        named = self._writers.get(writer)
        path = "" if named is None else resolved_path(named)
        if path:
            return EmbeddedFolders(Folder(absolute(path)))
        return EmbeddedFolders.of_crawl(self._directory.address, writer)

    def _is_embedded_output(self, writer: str, output: WriterOutput) -> bool:
        """By the files, for the ledger does not know what made them."""
        folder = noted_folder(self._directory, writer, output)
        shard = next(iter(output.shards.values()), None)
        return shard is not None and folder.child(shard).exists(FORMAT_FILE)


def is_embedded(plugin: str) -> bool:
    """Whether it is the plugin that writes embedded indexes, by whatever name."""
    if plugin == EMBEDDED:
        return True
    with suppress(PluginError):
        return len({each.target for each in resolve("indexwriter", (EMBEDDED, plugin))}) == 1
    return False
