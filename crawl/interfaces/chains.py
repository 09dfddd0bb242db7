"""The chains that URLs pass: normalizers one after the other, filters until one rejects.

A chain ships as plugin names and configuration, and builds its plugins where it runs. Each
has a row form and a batch form that agree; the batch form asks every plugin for the whole
column first, and only what is still open goes through Python row by row. A plugin that
raises is counted and has no opinion: no URL is ever lost to a fault of a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, Property, integer, string_list
from crawl.counters import Counters
from crawl.interfaces.faults import CountedFaults
from crawl.interfaces.registry import ResolvedPlugin, resolve
from crawl.interfaces.urlfilter import URLFilter
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer

URLNORMALIZER_ORDER = string_list(
    "urlnormalizer.order", ("basic", "regex"), "The normalizers, in the order of application."
)
URLNORMALIZER_ORDER_BY_SCOPE: dict[Scope, Property[tuple[str, ...]]] = {
    scope: string_list(
        f"urlnormalizer.order.{scope}",
        URLNORMALIZER_ORDER,
        f"The normalizers in the scope {scope}; empty: as urlnormalizer.order.",
    )
    for scope in Scope
}
URLNORMALIZER_LOOP_COUNT = integer(
    "urlnormalizer.loop.count",
    3,  # Nutch's 1 leaves `/..;sid=1` as `/..`, which the next phase would call another URL
    "How often the normalizers are applied, at most, until the URL no longer changes.",
    unit="times",
    minimum=1,
    maximum=100,
)
URLFILTER_ORDER = string_list(
    "urlfilter.order", ("length", "regex", "trap"), "The filters; the first that rejects decides."
)


_FEW = 64
"""URLs that are asked about one by one, as that takes no longer than to begin with a column."""


class _Chain:
    """Plugins by name, built on first use and left behind when the chain travels."""

    def __init__(self, plugins: Iterable[ResolvedPlugin], config: Config) -> None:
        self.plugins = tuple(plugins)
        self._config = config
        self._built: list[tuple[str, Any]] | None = None

    def build(self) -> Sequence[tuple[str, Any]]:
        """Every plugin by its name; raises ConfigError or PluginError."""
        if self._built is None:
            self._built = [(plugin.name, plugin.build(self._config)) for plugin in self.plugins]
        return self._built

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_built": None}


class NormalizerChain(_Chain):
    """The normalizers of one scope."""

    def __init__(self, plugins: Iterable[ResolvedPlugin], config: Config, scope: Scope) -> None:
        super().__init__(plugins, config)
        self.scope = scope
        self._loops = config[URLNORMALIZER_LOOP_COUNT]

    @classmethod
    def from_config(cls, config: Config, scope: Scope = Scope.DEFAULT) -> NormalizerChain:
        """The configured chain. Its plugins are built at once, so that a bad rule fails
        on the driver and the rule files travel with the configuration."""
        names: tuple[str, ...] = config[_order_of(config, scope)]
        chain = cls(resolve("urlnormalizer", names), config, scope)
        chain.build()
        return chain

    def normalize(self, url: str, counters: Counters | None = None) -> str | None:
        """The URL in normal form; None where the text is no URL."""
        for _ in range(self._loops):
            before = url
            for name, plugin in self.build():
                normal = self._asked(name, plugin, url, counters)
                if normal is None:
                    return None
                url = normal
            if url == before:
                break
        return url

    def _asked(
        self, name: str, plugin: URLNormalizer, url: str, counters: Counters | None
    ) -> str | None:
        try:
            normal = plugin.normalize(url, self.scope)
            if normal is not None and not normal.isascii():
                normal.encode()  # what has no bytes can neither be stored nor fetched
        except Exception:
            _count_error(counters, "urlnormalizer", name)
            return url
        return normal

    def normalize_batch(self, urls: pa.Array[Any], counters: Counters) -> pa.Array[Any]:
        """`normalize` for a string column; null where the text is no URL, or was null."""
        if len(urls) <= _FEW:
            texts = urls.to_pylist()
            normal = [None if text is None else self.normalize(text, counters) for text in texts]
            column: pa.Array[Any] = pa.array(normal, urls.type)
            return column
        return self._settled(urls, self._loops, counters)

    def _settled(self, urls: pa.Array[Any], loops: int, counters: Counters) -> pa.Array[Any]:
        """Passes the chain, and again with those rows that it changed."""
        normal = urls
        for name, plugin in self.build():
            normal = self._step(name, plugin, normal, counters)
        if loops == 1 or normal is urls:
            return normal
        changed: pa.Array[Any] = _false_for_null(pc.not_equal(urls, normal))
        again = normal.filter(changed)
        if not len(again):
            return normal
        settled = self._settled(again, loops - 1, counters)
        replaced: pa.Array[Any] = pc.replace_with_mask(normal, changed, settled)
        return replaced

    def _step(
        self, name: str, plugin: URLNormalizer, urls: pa.Array[Any], counters: Counters
    ) -> pa.Array[Any]:
        """One normalizer over the column; row by row only what it may not leave alone."""
        faults = CountedFaults(counters, f"plugin_errors.urlnormalizer.{name}")
        alone = _asked_column(lambda: plugin.leaves_alone(urls, self.scope), len(urls), faults)
        open_rows: pa.Array[Any] = pc.is_valid(urls)
        if alone is not None:
            open_rows = pc.and_not(open_rows, _false_for_null(alone))
        texts: list[Any] = urls.filter(open_rows).to_pylist()
        if not texts:
            return urls
        normal = [self._asked(name, plugin, text, counters) for text in texts]
        column: pa.Array[Any] = pc.replace_with_mask(urls, open_rows, pa.array(normal, urls.type))
        return column


class FilterChain(_Chain):
    """All filters; a URL must pass each."""

    @classmethod
    def from_config(cls, config: Config) -> FilterChain:
        """The configured chain, built at once for the same reasons."""
        names: tuple[str, ...] = config[URLFILTER_ORDER]
        chain = cls(resolve("urlfilter", names), config)
        chain.build()
        return chain

    def rejection(self, url: str, counters: Counters | None = None) -> tuple[str, str] | None:
        """The plugin that rejects the URL and its reason; None where all accept it."""
        for name, plugin in self.build():
            reason = _reason(name, plugin, url, counters)
            if reason is not None:
                return name, reason
        return None

    def _is_accepted(self, url: str | None, counters: Counters) -> bool:
        if url is None:
            return False
        rejection = self.rejection(url, counters)
        if rejection is not None:
            counters[f"url_filters_rejected.{rejection[0]}"] += 1
        return rejection is None

    def filter_batch(self, urls: pa.Array[Any], counters: Counters) -> pa.Array[Any]:
        """True for each URL that all filters accept. A null is no URL and not accepted."""
        if len(urls) <= _FEW:
            accepted_urls = [self._is_accepted(url, counters) for url in urls.to_pylist()]
            return pa.array(accepted_urls, pa.bool_())
        valid = pc.is_valid(urls).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(valid)
        remaining = urls if len(rows) == len(urls) else urls.take(rows)
        accepted = np.zeros(len(urls), np.bool_)
        for name, plugin in self.build():
            if not len(rows):
                break
            passed = _accepted(name, plugin, remaining, counters)
            rejected = len(rows) - int(np.count_nonzero(passed))
            if rejected:
                counters[f"url_filters_rejected.{name}"] += rejected
                rows = rows[passed]
                remaining = remaining.filter(pa.array(passed))
        accepted[rows] = True
        return pa.array(accepted)


def _false_for_null(column: pa.Array[Any]) -> pa.Array[Any]:
    fill_null: Any = pc.fill_null  # the stubs want a column to fill with
    filled: pa.Array[Any] = fill_null(column, False)
    return filled


def _accepted(name: str, plugin: URLFilter, urls: pa.Array[Any], counters: Counters) -> Any:
    """One filter's decision on every row, as a numpy array of booleans."""
    faults = CountedFaults(counters, f"plugin_errors.urlfilter.{name}")
    answer = _asked_column(lambda: plugin.accepts_batch(urls), len(urls), faults)
    verdict: pa.Array[Any] = pa.nulls(len(urls), pa.bool_()) if answer is None else answer
    if verdict.null_count == 0:
        return verdict.to_numpy(zero_copy_only=False)
    passed = _false_for_null(verdict).to_numpy(zero_copy_only=False).copy()
    open_rows = pc.is_null(verdict)
    texts: list[Any] = urls.filter(open_rows).to_pylist()
    passed[open_rows.to_numpy(zero_copy_only=False)] = [
        _reason(name, plugin, url, counters) is None for url in texts
    ]
    return passed


def _reason(name: str, plugin: URLFilter, url: str, counters: Counters | None) -> str | None:
    try:
        return plugin.rejection(url)
    except Exception:
        _count_error(counters, "urlfilter", name)
        return None


def _asked_column(
    ask: Callable[[], Any], length: int, faults: CountedFaults
) -> pa.Array[Any] | None:
    """A plugin's quick answer; None where it has none, or not one that can be used."""
    with faults:
        answer: pa.Array[Any] | pa.ChunkedArray[Any] | None = ask()
        if isinstance(answer, pa.ChunkedArray):
            answer = answer.combine_chunks()
        if answer is None or (len(answer) == length and answer.type == pa.bool_()):
            return answer
        raise ValueError(f"no {length} booleans")
    return None


def _count_error(counters: Counters | None, interface: str, name: str) -> None:
    if counters is not None:
        counters[f"plugin_errors.{interface}.{name}"] += 1


def _order_of(config: Config, scope: Scope) -> Property[tuple[str, ...]]:
    """The property that decides in the scope."""
    own = URLNORMALIZER_ORDER_BY_SCOPE[scope]
    is_own = config.origin(own) != "default" and config[own]
    return own if is_own else URLNORMALIZER_ORDER


@dataclass(frozen=True, slots=True)
class ActivePlugin:
    """A plugin's place in a chain, and who put it there."""

    plugin: ResolvedPlugin
    scope: str
    """The scope of a normalizer; empty for all scopes that have no order of their own."""
    position: int
    """From 1."""
    property: str
    """The configuration key that names it."""
    origin: str
    """Where that key was set: `default`, a file, `-D`."""


def describe(config: Config) -> tuple[ActivePlugin, ...]:
    """Every active normalizer and filter, for `crawl plugin list`."""
    active = [*_placed(config, "urlnormalizer", "", URLNORMALIZER_ORDER)]
    for scope, own in URLNORMALIZER_ORDER_BY_SCOPE.items():
        if _order_of(config, scope) is own:
            active += _placed(config, "urlnormalizer", scope, own)
    return (*active, *_placed(config, "urlfilter", "", URLFILTER_ORDER))


def _placed(
    config: Config, interface: str, scope: str, order: Property[tuple[str, ...]]
) -> Iterator[ActivePlugin]:
    names: tuple[str, ...] = config[order]
    for position, plugin in enumerate(resolve(interface, names), start=1):
        yield ActivePlugin(plugin, str(scope), position, order.name, config.origin(order))
