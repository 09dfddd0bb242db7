"""What a task is told, and what its engine asks of the rest of the crawler by it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.fetcher.frontier.queues import Left
from crawl.fetcher.output.output import Output
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.record import FetchRecord
from crawl.fetcher.values.settings import (
    FETCHER_QUEUE_MODE,
    FETCHER_STORE_ROBOTS,
    HTTP_REDIRECT_MAX,
)
from crawl.fetcher.values.surroundings import Surroundings
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.registry import ResolvedPlugin
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.net.dns import HostResolver
from crawl.parsing.plan import Parsing
from crawl.rules.redirect import RedirectRules
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import GENERATE, PartFile
from crawl.urls.partition import Partitioner, PartitionMode


@dataclass(frozen=True, slots=True)
class Strays:
    """Pages of all parts whose rules a server of another part tells, for one task at the end."""

    authorities: frozenset[str]
    left: tuple[Left, ...]
    """How those before left their servers."""


def strays_part(lists: Iterable[PartFile]) -> int:
    """The number of that task's part: the one after all others."""
    return max((file.part for file in lists), default=-1) + 1


@dataclass(frozen=True)
class PartFetching:
    """What every task needs to know."""

    segment: Folder
    config: Config
    protocols: tuple[ResolvedPlugin, ...]
    normalizers: NormalizerChain
    filters: FilterChain
    scoring: ScoringChain
    buckets: int
    """Of the CrawlDb that the records will be merged into."""
    lists: tuple[PartFile, ...]
    """All parts of the fetch list: servers of others are not this one's to ask."""
    deadline_ms: int | None
    """When the job's time is up, by the wall clock: a task that is tried again has no more."""
    strays: Strays | None = None
    """What the other tasks left, and are done: all servers are this one's to ask then."""
    parsing: Parsing | None = None
    """How pages are parsed while they are fetched; None where they are not."""
    list_normalizers: NormalizerChain | None = None
    list_filters: FilterChain | None = None
    """For the URLs of the list; None where they are taken as they are."""
    clock: Clock = field(default_factory=SystemClock)


def surroundings(
    fetching: PartFetching,
    emit: Callable[[FetchRecord], None],
    followed: Callable[[FetchItem], None],
    output: Output,
    file: PartFile,
    done: set[str],
    resolver: HostResolver,
) -> Surroundings:
    config = fetching.config
    mode = PartitionMode(config[FETCHER_QUEUE_MODE])

    def address_of(host: str) -> str | None:
        found = resolver.locate(host).addresses
        return found[0] if found else None

    partitioner = Partitioner(mode, address_of)
    spaced = Politeness.of(config).ip_delay_s > 0
    several = len(fetching.lists) > 1 and fetching.strays is None
    looks_again = fetching.list_normalizers is not None or fetching.list_filters is not None
    return Surroundings(
        key_of=_itself
        if mode is PartitionMode.BY_HOST
        else lambda host: partitioner.key_of_host(host).key,
        emit=emit,
        followed=followed,
        clock=fetching.clock,
        chance=random.Random(file.part),
        accepted=_acceptance(
            fetching.normalizers,
            fetching.filters,
            done if config[HTTP_REDIRECT_MAX] > 0 else set(),
        ),
        astray=RedirectRules.of(config).why_dropped,
        admitted=_acceptance(fetching.list_normalizers, fetching.list_filters, done)
        if looks_again
        else None,
        archive=output.archive if config[FETCHER_STORE_ROBOTS] else None,
        owns=_keys(fetching, file, partitioner).__contains__ if several else lambda key: True,
        elsewhere=_Elsewhere(fetching, file, partitioner) if several else lambda key: False,
        address_of=address_of if spaced else None,
    )


def _itself(host: str) -> str:
    return host


def _acceptance(
    normalizers: NormalizerChain | None, filters: FilterChain | None, done: set[str]
) -> Callable[[str], tuple[str | None, str]]:
    """A URL in normal form; or None, and why it is not wanted."""

    def accepted(url: str) -> tuple[str | None, str]:
        normal = url if normalizers is None else normalizers.normalize(url)
        if normal is None:
            return None, "malformed"
        if normal in done:
            return None, "already_fetched"  # by a task before this one
        rejected = None if filters is None else filters.rejection(normal)
        return (normal, "") if rejected is None else (None, f"filtered.{rejected[0]}")

    return accepted


class _Elsewhere:
    """Servers of the other parts; their lists are read when first asked about, which few
    fetches do: a robots.txt that redirects to another host is rare."""

    def __init__(self, fetching: PartFetching, file: PartFile, partitioner: Partitioner) -> None:
        self._others = [other for other in fetching.lists if other.part != file.part]
        self._fetching = fetching
        self._partitioner = partitioner
        self._keys: frozenset[str] | None = None

    def __call__(self, key: str) -> bool:
        if self._keys is None:
            found = (_keys(self._fetching, other, self._partitioner) for other in self._others)
            self._keys = frozenset[str]().union(*found)
        return key in self._keys


def _keys(fetching: PartFetching, file: PartFile, partitioner: Partitioner) -> frozenset[str]:
    """The servers of a part: generate gives each to one part."""
    hosts: set[str] = set()
    with open_table(fetching.segment.child(GENERATE), file.path, host_codes=True) as source:
        for rows in each_group(source, ["host"]):
            for chunk in rows["host"].chunks:
                hosts.update(chunk.dictionary.to_pylist())
    return frozenset(partitioner.key_of_host(host).key for host in hosts)
