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
    has_others = len(spec.lists) > 1 and spec.cross_part is None
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
        owns_server=_server_keys(spec, file, key_of).__contains__
        if has_others
        else lambda key: True,
        is_other_parts_server=_OtherPartsServers(spec, file, key_of)
        if has_others
        else lambda key: False,
        is_slow_host=spec.is_slow_host or (lambda host: False),
        address_of=address_of if spaced else None,
        known_robots=known_robots.take,
        robots_redirect_of=lambda authority: redirects.get(authority, ""),
        known_server=known_servers.take,
    )


class _OtherPartsServers:
    """Knows the servers of the other parts. Their lists are read when first asked about, which
    few fetches do: a robots.txt that redirects to another host is rare."""

    def __init__(self, spec: FetchTaskSpec, file: PartFile, key_of: Callable[[str], str]) -> None:
        self._others = [other for other in spec.lists if other.part != file.part]
        self._spec = spec
        self._key_of = key_of
        self._keys: frozenset[str] | None = None

    def __call__(self, key: str) -> bool:
        if self._keys is None:
            keys = (_server_keys(self._spec, other, self._key_of) for other in self._others)
            self._keys = frozenset[str]().union(*keys)
        return key in self._keys


def _server_keys(
    spec: FetchTaskSpec, file: PartFile, key_of: Callable[[str], str]
) -> frozenset[str]:
    """The servers of a part: generate gives each to one part."""
    return frozenset(map(key_of, listed_hosts(spec, file)))


def listed_hosts(spec: FetchTaskSpec, file: PartFile) -> set[str]:
    """The hosts of a part's fetch list."""
    hosts: set[str] = set()
    with open_table(
        spec.segment.child(GENERATE), file.path, host_codes=True, size=file.bytes
    ) as source:
        for rows in each_group(source, ["host"]):
            for chunk in rows["host"].chunks:
                codes = cast("pa.DictionaryArray[Any, Any]", chunk)
                hosts.update(cast(list[str], codes.dictionary.to_pylist()))
    return hosts
