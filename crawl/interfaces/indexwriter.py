"""indexwriter: puts documents into an index, whatever that is: files, a library, a server.

The documents of a crawl are dealt to shards by host. A task opens a writer for its shard and
tells it, in the order of URLs, what becomes of the documents that the shard has and which ones
are new. What a file writer makes is seen by nobody until the driver publishes all shards at
once; a server is sent each document under its URL and version, so that the same can be sent
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, Any, ClassVar, Protocol, runtime_checkable

from crawl.config import Config
from crawl.model.documents import IndexDocument

NO_PARAMETERS: Mapping[str, Any] = MappingProxyType({})
"""Of a writer that index-writers.toml does not name."""


class Shard(Protocol):
    """A task's share of an index, and where files of it may be written."""

    @property
    def number(self) -> int:
        """From 0."""
        ...

    @property
    def base(self) -> str | None:
        """The name of what the shard consists of now; None where it is empty or at a server."""
        ...

    def new_name(self, suffix: str) -> str:
        """A name for the shard's next state that no other attempt shares."""
        ...

    def open_read(self, name: str) -> AbstractContextManager[IO[bytes]]: ...

    def open_write(self, name: str) -> AbstractContextManager[IO[bytes]]: ...

    def local_path(self, name: str) -> str:
        """The path of a file or folder on this machine's disk; StorageError where the index
        is elsewhere."""
        ...


class ShardWriter(Protocol):
    """Writes one shard. All calls come in the order of URLs, compared as UTF-8: each document
    that the shard has is kept, replaced or deleted exactly once."""

    def keep(self, count: int) -> None:
        """The next `count` documents of the shard stay as they are."""
        ...

    def add(self, document: IndexDocument, *, replaces: bool) -> None:
        """A document; `replaces`: in place of the one that the shard has under its URL."""
        ...

    def delete(self, url: str, version: int) -> None:
        """The document that the shard has under this URL is to go."""
        ...

    def close(self) -> str | None:
        """Ends the work: all is written, or acknowledged by the server, when it returns. The
        name of the shard's new state; None where there is none to be named."""
        ...

    def abort(self) -> None:
        """Gives up after a fault; nothing needs to be whole."""
        ...


@dataclass(frozen=True, slots=True)
class Flushed:
    """What an index made of all that it was given since it was asked last."""

    refused: Mapping[str, str] = field(default_factory=dict)
    """The documents that it did not take, by URL, and what it said: others are not to suffer."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What else is worth counting, by name: `version_conflicts`, `retries`."""


@runtime_checkable
class AnsweringShardWriter(ShardWriter, Protocol):
    """A writer that can be asked in between whether all is well: that of a server may be."""

    def flush(self) -> Flushed:
        """All that it was given is acknowledged or refused when it returns."""
        ...


class IndexWriter(Protocol):
    """One kind of index. Active are those that `index.writers` names."""

    keeps_files: ClassVar[bool] = True
    """False for a server, which need not know of documents that stay."""

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        """Reads the writer's parameters in index-writers.toml; raises ConfigError for what
        cannot be meant, also for a parameter that it does not know."""

    def check(self) -> None:
        """Called once before the work: raises one clear line where the index cannot be written
        to (a server that is not there, a library that is not installed). A writer that finds no
        index and makes one has a true `is_new` from then on."""
        ...

    def open(self, shard: Shard) -> ShardWriter:
        """Called in a task: a writer for the shard."""
        ...

    def commit(self) -> None:
        """Called once when all shards are written: makes them visible to searches. File
        writers have nothing to do here."""
        ...


@runtime_checkable
class ProbingIndexWriter(IndexWriter, Protocol):
    """A writer whose `check` may make an index: it can be asked without that."""

    def probe(self) -> None:
        """As `check`, for whoever does not mean to write: nothing is made."""
        ...
