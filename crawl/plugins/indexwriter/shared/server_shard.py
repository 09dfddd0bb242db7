"""A shard of an index at a server: changes are gathered, sent in batches and accounted for."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.interfaces.indexwriter import Flushed
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.http_server import HttpServer
from crawl.plugins.indexwriter.shared.server_settings import ServerSettings
from crawl.printable import printable

VERSION_CONFLICTS = "version_conflicts"
REJECTED = "rejected"

_KIND = re.compile(r"[a-z0-9_]{1,60}")
_MAX_KINDS = 20
"""Reasons that are counted by name: a server may think of any number."""


@dataclass(frozen=True, slots=True)
class Change:
    """A document to be put into the index, or to be taken out."""

    url: str
    version: int
    body: bytes
    """As it is sent."""
    deletes: bool = False


class ServerShard:
    """Tells a server of changes."""

    def __init__(self, settings: ServerSettings, server: HttpServer) -> None:
        self._settings = settings
        self._server = server
        self._waiting: list[Change] = []
        self._waiting_bytes = 0
        self._counts = Counters()
        self._kinds: set[str] = set()
        self._refused: dict[str, str] = {}
        self._rejected = 0
        self._retries_told = 0

    @abstractmethod
    def _addition(self, document: IndexDocument) -> Change:
        """The change that puts a document into the index."""

    @abstractmethod
    def _deletion(self, url: str, version: int) -> Change:
        """The change that takes one out."""

    @abstractmethod
    def _send(self, changes: Sequence[Change]) -> None:
        """Sends changes, each of a URL of its own; all is acknowledged when it returns, or told
        by `_refuse`."""

    def keep(self, count: int) -> None:
        pass

    def add(self, document: IndexDocument, *, replaces: bool) -> None:
        self._gather(self._addition(document))

    def delete(self, url: str, version: int) -> None:
        self._gather(self._deletion(url, version))

    def _gather(self, change: Change) -> None:
        size = len(change.body)
        is_full = len(self._waiting) >= self._settings.batch_documents
        if is_full or self._waiting_bytes + size > self._settings.batch_bytes:
            self._send_waiting()
        self._waiting.append(change)
        self._waiting_bytes += size

    def _send_waiting(self) -> None:
        changes, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if changes:
            self._send(changes)

    def _conflict(self) -> None:
        """The index has a newer document than we: so it should be."""
        self._counts[VERSION_CONFLICTS] += 1

    def _refuse(self, change: Change, kind: str, message: str) -> None:
        """The server will not have a document, whatever we do; raises StorageError where it has
        refused too many."""
        address = self._settings.addresses[0]
        if change.deletes:
            raise StorageError(
                f"{address} does not delete {printable(change.url, 200)}: {printable(message)}"
            )
        if not _KIND.fullmatch(kind) or (
            kind not in self._kinds and len(self._kinds) >= _MAX_KINDS
        ):
            kind = "other"
        self._kinds.add(kind)
        self._counts[REJECTED] += 1
        self._counts[f"{REJECTED}.{kind}"] += 1
        self._refused[change.url] = message
        self._rejected += 1
        if self._rejected > self._settings.max_rejected:
            raise StorageError(
                f"{address} refuses documents: {message}; given up after {self._rejected:,} of a"
                " shard (max_rejected)"
            )

    @property
    def _retries(self) -> int:
        return self._server.retries

    def flush(self) -> Flushed:
        self._send_waiting()
        retries, self._retries_told = self._retries - self._retries_told, self._retries
        if retries:
            self._counts["retries"] += retries
        result = Flushed(self._refused, dict(self._counts))
        self._refused, self._counts = {}, Counters()
        return result

    def close(self) -> None:
        self._send_waiting()
        self._server.close()

    def abort(self) -> None:
        self._server.close()
