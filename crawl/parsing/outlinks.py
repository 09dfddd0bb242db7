"""Which of its links a page passes on: the rules, over the links of many pages at once.

A page's links are taken in document order until so many of them were found good. Whatever
is done to URLs is done to a column of the distinct ones: the links of pages of one site
are largely the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.model.arrow import as_mask, equals, fill_null
from crawl.model.parse import Outlink
from crawl.parsing.anchors import Repeat, positions_with_longest_text, unread_links
from crawl.rules import links as link_rules
from crawl.urls.domains import domains_of
from crawl.urls.hosts import hosts_of

Exempts = Callable[[str, str], bool]
_Integers = npt.NDArray[np.int64]
_Pages = Sequence[tuple[str, Sequence[Outlink]]]
"""The URL and the links of each."""
_DROPPED = "outlinks_dropped."
_FIRST_LOOK = 64
"""Links looked at in the first round at least, so that most pages need no second."""


@dataclass(frozen=True)
class OutlinkRules:
    """What is kept."""

    normalizers: NormalizerChain | None
    filters: FilterChain | None
    max_per_page: int = 100
    max_length: int = 4096
    ignored_rel: frozenset[str] = frozenset({"nofollow"})
    ignore_internal: bool = False
    ignore_external: bool = False
    by_domain: bool = False

    @classmethod
    def of(
        cls, config: Config, normalizers: NormalizerChain | None, filters: FilterChain | None
    ) -> OutlinkRules:
        return cls(
            normalizers,
            filters,
            max_per_page=config[link_rules.DB_MAX_OUTLINKS],
            max_length=config[link_rules.DB_MAX_OUTLINK_LENGTH],
            ignored_rel=frozenset(word.lower() for word in config[link_rules.PARSE_IGNORE_REL]),
            ignore_internal=config[link_rules.DB_IGNORE_INTERNAL],
            ignore_external=config[link_rules.DB_IGNORE_EXTERNAL],
            by_domain=config[link_rules.DB_IGNORE_MODE] == "byDomain",
        )


@dataclass(frozen=True, slots=True)
class KeptLinks:
    """The links that were kept, page by page in document order."""

    owner: _Integers
    """The page that each belongs to."""
    position: _Integers
    """Its place among the page's links; of several to one URL that of the longest text."""
    urls: pa.Array[Any]
    """The URLs in normal form."""
    hosts: pa.Array[Any]
    """The URLs' hosts; empty for none."""


def keep_links(
    pages: _Pages,
    rules: OutlinkRules,
    counters: Counters,
    exempts: Exempts = lambda source, target: False,
    link_lists: Collection[int] = (),
) -> KeptLinks:
    """The links to keep of each page (its URL and links); every drop is counted. Pages whose
    numbers are among `link_lists` are sitemaps and feeds, of which their parser has read no
    more than it may: their number of links is not limited here."""
    sources = pa.array([url for url, _ in pages], pa.string())
    scanned = np.zeros(len(pages), np.int64)
    sizes = np.array([len(links) for _, links in pages], np.int64)
    limits = np.full(len(pages), rules.max_per_page, np.int64)
    limits[list(link_lists)] = -1
    # how many links of each page are looked at next; of those without a limit all of them
    look = np.where(limits < 0, sizes, np.maximum(2 * limits, _FIRST_LOOK))
    sizes[limits == 0] = 0
    good = _none()
    dropped = Counters()
    first = _distinct(good)
    waiting = np.flatnonzero(scanned < sizes)
    while len(waiting):
        stops = np.minimum(scanned + look, sizes)
        spans = [(int(page), int(scanned[page]), int(stops[page])) for page in waiting]
        good = _joined(good, _good(pages, sources, spans, rules, dropped, exempts))
        scanned[waiting] = stops[waiting]
        first = _distinct(good)
        enough = np.bincount(good.owner[first], minlength=len(pages)) >= limits
        waiting = np.flatnonzero((scanned < sizes) & ~(enough & (limits >= 0)))
        look *= 4
    dropped["duplicate"] += len(good.owner) - len(first)
    within = _within(good.owner[first], limits)
    dropped["limit"] += len(first) - int(within.sum())
    dropped["limit"] += sum(len(links) for _, links in pages) - int(scanned.sum())
    for reason, count in dropped.items():
        if count:
            counters[reason if reason.startswith("plugin_errors.") else _DROPPED + reason] += count
    return _with_longest_texts(pages, good, first[within], scanned, rules)


def _with_longest_texts(
    pages: _Pages, good: KeptLinks, rows: _Integers, scanned: _Integers, rules: OutlinkRules
) -> KeptLinks:
    """The chosen ones of the links that were found good, each told by the longest text that its
    page has for it."""
    outlinks = _taken(good, rows)
    links_of = [links for _, links in pages]
    repeats = list(_repeats(good, rows))
    unread = list(
        unread_links(links_of, outlinks.owner, outlinks.position, scanned, rules.ignored_rel)
    )
    if unread:
        keys = zip(outlinks.owner.tolist(), outlinks.urls.to_pylist(), strict=True)
        row_of = {key: row for row, key in enumerate(keys)}
        urls = fill_null(_texts([url for _, _, url in unread]), "")
        if rules.normalizers is not None:
            coded = urls.dictionary_encode()
            normal = rules.normalizers.normalize_batch(coded.dictionary, Counters())
            urls = normal.take(coded.indices)
        for (page, place, _), url in zip(unread, urls.to_pylist(), strict=True):
            if (row := row_of.get((page, url))) is not None:
                repeats.append((row, place))
    position = positions_with_longest_text(links_of, outlinks.owner, outlinks.position, repeats)
    return replace(outlinks, position=position)


def _good(
    pages: _Pages,
    sources: pa.Array[Any],
    spans: list[tuple[int, int, int]],
    rules: OutlinkRules,
    dropped: Counters,
    exempts: Exempts,
) -> KeptLinks:
    """What is good of some links of some pages; the same URL may come twice."""
    links = list(chain.from_iterable(pages[page][1][start:stop] for page, start, stop in spans))
    owners, starts, stops = np.array(spans, np.int64).T
    owner = np.repeat(owners, stops - starts)
    position = np.concatenate([np.arange(start, stop) for _, start, stop in spans])
    urls = _texts([link.url for link in links])
    alive = np.ones(len(links), np.bool_)

    def drop(reason: str, which: npt.NDArray[np.bool_]) -> None:
        nonlocal alive
        which = which & alive
        dropped[reason] += int(np.count_nonzero(which))
        alive &= ~which

    drop("malformed", as_mask(pc.is_null(urls)))
    lengths = pc.binary_length(cast("pa.StringArray", urls))
    drop("too_long", as_mask(pc.greater(lengths, pa.scalar(rules.max_length))))
    rels = [place for place, link in enumerate(links) if link.rel]
    if rels and rules.ignored_rel:
        for place in rels:
            named = rules.ignored_rel.intersection(links[place].rel.split())
            if named and alive[place]:
                alive[place] = False
                dropped[f"rel_{min(named)}"] += 1
    if rules.ignore_internal or rules.ignore_external:
        _by_place(urls, sources.take(owner), alive, rules, drop, exempts)

    rows = np.flatnonzero(alive)
    if not len(rows):
        return _none()
    coded = urls.take(rows).dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    plugin_counters = Counters()
    normal = coded.dictionary
    if rules.normalizers is not None:
        normal = rules.normalizers.normalize_batch(normal, plugin_counters)
    hosts = fill_null(hosts_of(normal), "")
    is_file = fill_null(_are_files(normal), False)
    placeless = pc.and_(equals(hosts, ""), pc.invert(is_file))
    drop("malformed", _spread(fill_null(placeless, True), codes, rows, len(links)))
    if pc.any(is_file).as_py():
        of_the_web = ~as_mask(_are_files(sources.take(owner)))
        drop(link_rules.LOCAL_FILE, _spread(is_file, codes, rows, len(links)) & of_the_web)
    if rules.filters is not None:
        accepted = rules.filters.filter_batch(normal, plugin_counters)
        drop("filtered", _spread(pc.invert(accepted), codes, rows, len(links)))
    for name, count in plugin_counters.items():
        if name.startswith("plugin_errors."):
            dropped[name] += count

    code_of = np.zeros(len(links), np.int64)
    code_of[rows] = codes
    targets = normal.take(code_of)
    drop("self", as_mask(pc.equal(targets, sources.take(owner))))
    rows = np.flatnonzero(alive)
    row_codes = code_of[rows]
    return KeptLinks(owner[rows], position[rows], normal.take(row_codes), hosts.take(row_codes))


def _by_place(
    urls: pa.Array[Any],
    sources: pa.Array[Any],
    alive: npt.NDArray[np.bool_],
    rules: OutlinkRules,
    drop: Callable[[str, npt.NDArray[np.bool_]], None],
    exempts: Exempts,
) -> None:
    """Drops links that lead away, or that do not."""
    here, there = _places(sources), _places(urls)
    drop("malformed", as_mask(pc.is_null(there)))
    if rules.by_domain:
        here, there = domains_of(here), domains_of(there)
    internal = as_mask(pc.equal(here, there))
    if rules.ignore_internal:
        drop("internal", internal)
    if rules.ignore_external:
        external = ~internal & alive
        for place in np.flatnonzero(external):
            if exempts(sources[int(place)].as_py(), urls[int(place)].as_py()):
                external[place] = False
        drop("external", external)


def _are_files(urls: pa.Array[Any]) -> pa.Array[Any]:
    return pc.starts_with(urls, "file:")


def _places(urls: pa.Array[Any]) -> pa.Array[Any]:
    """The hosts; an empty one for all files, null for what has none."""
    hosts = hosts_of(urls)
    return cast("pa.Array[Any]", pc.if_else(_are_files(urls), fill_null(hosts, ""), hosts))


def _texts(values: list[str]) -> pa.Array[Any]:
    """A string column; null for what cannot be stored."""
    try:
        return pa.array(values, pa.string())
    except (UnicodeError, pa.ArrowException):
        return pa.array([value if _is_text(value) else None for value in values], pa.string())


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeError:
        return False
    return True


def _spread(
    distinct: pa.Array[Any], codes: npt.NDArray[np.integer[Any]], rows: _Integers, size: int
) -> npt.NDArray[np.bool_]:
    """An answer for the distinct URLs as one for all links."""
    answer = np.zeros(size, np.bool_)
    answer[rows] = distinct.to_numpy(zero_copy_only=False)[codes]
    return answer


def _none() -> KeptLinks:
    nothing = np.zeros(0, np.int64)
    return KeptLinks(nothing, nothing, pa.array([], pa.string()), pa.array([], pa.string()))


def _taken(links: KeptLinks, rows: _Integers) -> KeptLinks:
    return KeptLinks(
        links.owner[rows], links.position[rows], links.urls.take(rows), links.hosts.take(rows)
    )


def _joined(one: KeptLinks, other: KeptLinks) -> KeptLinks:
    """Both, in the order of pages and of their links."""
    if not len(one.owner):
        return other
    owner = np.concatenate([one.owner, other.owner])
    position = np.concatenate([one.position, other.position])
    both = KeptLinks(
        owner,
        position,
        pa.concat_arrays([one.urls, other.urls]),
        pa.concat_arrays([one.hosts, other.hosts]),
    )
    return _taken(both, np.lexsort((position, owner)))


def _distinct(links: KeptLinks) -> _Integers:
    """The first row of each URL of each page, in their order."""
    return np.sort(np.unique(_keys(links), return_index=True)[1])


def _keys(links: KeptLinks) -> _Integers:
    """A number for each URL of each page."""
    codes = links.urls.dictionary_encode()
    indices: _Integers = codes.indices.to_numpy(zero_copy_only=False)
    return links.owner * len(codes.dictionary) + indices


def _repeats(good: KeptLinks, rows: _Integers) -> Iterator[Repeat]:
    """The links that were found to lead where a chosen one of their page leads."""
    if not len(rows) or len(rows) == len(good.owner):
        return
    keys = _keys(good)
    keys_of_rows = keys[rows]
    order = np.argsort(keys_of_rows)
    places = np.searchsorted(keys_of_rows, keys, sorter=order)
    same = order[np.minimum(places, len(order) - 1)]
    again = keys_of_rows[same] == keys
    again[rows] = False
    yield from zip(same[again].tolist(), good.position[again].tolist(), strict=True)


def _within(owner: _Integers, limits: _Integers) -> npt.NDArray[np.bool_]:
    """The first rows of each page, as many as its limit allows; rows are in the order of
    pages."""
    most = limits[owner]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    within: npt.NDArray[np.bool_] = (rank < most) | (most < 0)
    return within
