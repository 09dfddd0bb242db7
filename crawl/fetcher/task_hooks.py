"""How the engine of a task decides on URLs and servers: by the plugins and the fetch lists."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from crawl.fetcher.hand_over import KnownRobots, KnownServers
from crawl.fetcher.task_spec import FetchTaskSpec
from crawl.fetcher.values.hooks import EngineHooks, address_lookup, queue_keys, url_acceptance
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import HTTP_REDIRECT_MAX
from crawl.net.dns import HostResolver
from crawl.rules.redirect import RedirectRules
from crawl.storage.fetch_lanes import twin_of
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import GENERATE, PartFile

if TYPE_CHECKING:
    import pyarrow as pa


def hooks_for_task(
    spec: FetchTaskSpec,
    file: PartFile,
    fetched: set[str],
    resolver: HostResolver,
    known_robots: KnownRobots,
    known_servers: KnownServers,
) -> EngineHooks:
    """The hooks of the engine that fetches a part; `fetched` URLs have a record already."""
    config = spec.config
    address_of = address_lookup(resolver)
    key_of = queue_keys(config, address_of)
    spaced = Politeness.of(config).ip_delay_s > 0
    redirects = {} if spec.cross_part is None else spec.cross_part.authorities
    is_part = spec.cross_part is None
    servers = _PartServers(spec, file, key_of)
    is_bound = is_part and (len(spec.lists) > 1 or spec.keeps_to_lists)
    is_watched = is_part and spec.may_leave_lists is not None
    if is_bound:
        servers.load()
    is_list_checked = spec.list_normalizers is not None or spec.list_filters is not None
    return EngineHooks(
        key_of=key_of,
        clock=spec.clock,
        rng=random.Random(file.part),
        accept_target=url_acceptance(
            spec.normalizers, spec.filters, fetched if config[HTTP_REDIRECT_MAX] > 0 else set()
        ),
        why_redirect_dropped=RedirectRules.of(config).why_dropped,
        accept_listed=url_acceptance(spec.list_normalizers, spec.list_filters, fetched)
        if is_list_checked
        else None,
        is_fetched=fetched.__contains__,
        owns_server=servers.owns if is_bound or is_watched else lambda key: True,
        is_other_parts_server=servers.is_of_others if is_part else lambda key: False,
        is_slow_host=spec.is_slow_host or (lambda host: False),
        address_of=address_of if spaced else None,
        known_robots=known_robots.take,
        robots_redirect_of=lambda authority: redirects.get(authority, ""),
        known_server=known_servers.take,
    )


class _PartServers:
    """Knows the servers of a part, and those of others. The lists of the other parts are read when
    first asked about, which few fetches do: a robots.txt that redirects to another host is rare."""

    def __init__(self, spec: FetchTaskSpec, file: PartFile, key_of: Callable[[str], str]) -> None:
        self._spec = spec
        self._file = file
        self._key_of = key_of
        self._own: frozenset[str] | None = None
        self._others: frozenset[str] | None = None
        self._twins: frozenset[str] | None = None

    def load(self) -> frozenset[str]:
        """The part's own servers, read when they are first needed."""
        if self._own is None:
            self._own = self._keys(self._file)
        return self._own

    def owns(self, key: str) -> bool:
        """Whether a server is this part's to ask: generate gives each to one part."""
        return key in self.load()

    def is_of_others(self, key: str) -> bool:
        """Whether another part asks a server; or a service, which has those of no list."""
        if self._others is None:
            others = [other for other in self._spec.lists if other.part != self._file.part]
            self._others = frozenset[str]().union(*map(self._keys, others))
        if key in self._others:
            return True
        may_leave = self._spec.may_leave_lists
        if self.owns(key) or not (self._spec.keeps_to_lists or may_leave):
            return False
        if self._twins is None:
            hosts = listed_hosts(self._spec.segment, self._file)
            self._twins = frozenset(self._key_of(twin_of(host)) for host in hosts)
        return key not in self._twins and not (may_leave and may_leave())

    def _keys(self, file: PartFile) -> frozenset[str]:
        return frozenset(map(self._key_of, listed_hosts(self._spec.segment, file)))


def listed_hosts(segment: Folder, file: PartFile) -> set[str]:
    """The hosts of a part's fetch list."""
    hosts: set[str] = set()
    with open_table(segment.child(GENERATE), file.path, host_codes=True, size=file.bytes) as source:
        for rows in each_group(source, ["host"]):
            for chunk in rows["host"].chunks:
                codes = cast("pa.DictionaryArray[Any, Any]", chunk)
                hosts.update(cast(list[str], codes.dictionary.to_pylist()))
    return hosts
