"""mirrors: sites that have the same contents under the same paths, found without comparing any
two sites of which nothing is known.

Pages meet by path and content; sites that meet often are candidates, and these are compared
path by path. What meets at a place is numbers, and few: a page that very many sites share (a
parked domain's, a server's first page) pairs nobody, and a pair of large sites is compared by
a sample of its paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crawl.model.arrow import as_array
from crawl.phases.dust.tasks.evidence import ranks_within
from crawl.phases.dust.tasks.forms import RowPlaces, UrlForms
from crawl.phases.dust.tasks.rows import number_columns
from crawl.phases.dust.tasks.task import each_page
from crawl.storage.folder import Folder
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.slices import Slice
from crawl.urls.columns import column_bytes
from crawl.urls.text_hashes import Numbers, mixed, row_hashes

PAGES = RowKind("pages", number_columns("page", "site", "signature"))
"""A page by path and content, and a site that has it."""
PAIRS = RowKind("pairs", number_columns("one", "other", "signature"))
"""Two sites that have a page in common."""
COMPARED = RowKind("compared", number_columns("pair", "path", "signature", "side"))
"""A page of a candidate."""

_ALL_PAIRS = 8
"""Sites of a page that are all paired with each other; of more, each with the first."""
_MAX_SITES = 64
"""Of a page; one that more sites share says nothing of any."""
_MAX_CANDIDATES = 100_000
"""Of one destination."""
_COMPARED_PATHS = 4_096
"""Of a pair, about."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two sites, by number, that have pages in common."""

    one: int
    other: int
    pages: int
    contents: int


@dataclass(frozen=True, slots=True)
class CandidateSites:
    """Candidates as a task needs them: by site the pairs that it is one side of."""

    sites: Numbers
    starts: Numbers
    """Where the entries of each site begin; one more at the end."""
    pairs: Numbers
    sides: Numbers
    masks: Numbers
    """Of each entry the bits of a path's number that must not be set."""

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> CandidateSites:
        entries = sorted(
            (site, pair, side, sample_of(each) - 1)
            for pair, each in enumerate(candidates)
            for side, site in enumerate((each.one, each.other))
        )
        columns = np.array(entries, np.uint64).reshape(-1, 4)
        sites, starts = np.unique(columns[:, 0], return_index=True)
        ends = np.append(starts, len(entries)).astype(np.uint64)
        return cls(sites, ends, columns[:, 1], columns[:, 2], columns[:, 3])


def sample_of(candidate: Candidate) -> int:
    """One in so many of a candidate's paths is compared: a power of two."""
    return 1 << max(0, int(candidate.pages // _COMPARED_PATHS).bit_length())


@dataclass(frozen=True, slots=True)
class MirrorJob:
    """A search for mirrors: the CrawlDb, how many tasks share the rows, and how many contents two
    sites must have in common."""

    crawldb: Folder
    destinations: int
    min_contents: int


def send_pages(job: MirrorJob, slice_: Slice, outbox: Outbox) -> int:
    """Sends the pages of a slice by path and content; returns how many."""
    count = 0
    for site, path, signature, _ in _pages(job.crawldb, slice_):
        page = mixed(path + mixed(signature))
        count += len(page)
        rows = pa.table([page, site, signature], schema=PAGES.schema)
        outbox.send(PAGES, rows, _places(page, job.destinations))
    return count


def send_pairs(job: MirrorJob, number: int, received: Received, outbox: Outbox) -> int:
    """Sends the pairs of sites that have a page in common; returns how many pages too many sites
    have."""
    rows = received.rows(PAGES)
    page, site, signature = (rows[name].to_numpy() for name in PAGES.schema.names)
    order = np.lexsort((site, page))
    page, site, signature = page[order], site[order], signature[order]
    starts = np.flatnonzero(np.append(True, page[1:] != page[:-1])[: len(page)])
    sizes = np.diff(np.append(starts, len(page)))
    for step in range(1, _MAX_SITES):
        # every site with the one that many places before it, as long as that pairs them
        firsts = (sizes > step) & (sizes <= _MAX_SITES)
        if not firsts.any():
            break
        few = starts[firsts & (sizes <= _ALL_PAIRS)]
        limits = sizes[firsts & (sizes <= _ALL_PAIRS)]
        counts = limits - step
        ones = np.repeat(few, counts) + ranks_within(counts)
        many = starts[firsts & (sizes > _ALL_PAIRS)]
        first = np.concatenate([ones, many])
        second = first + step
        pairs = pa.table([site[first], site[second], signature[first]], schema=PAIRS.schema)
        places = _places(mixed(site[first] + mixed(site[second])), job.destinations)
        outbox.send(PAIRS, pairs, places)
    return int(np.count_nonzero(sizes > _MAX_SITES))


def find_candidates(job: MirrorJob, number: int, received: Received) -> list[Candidate]:
    """The pairs with enough contents in common, most first."""
    rows = received.rows(PAIRS)
    one, other, signature = (rows[name].to_numpy() for name in PAIRS.schema.names)
    pair = mixed(one + mixed(other))
    numbers, firsts, places, pages = np.unique(
        pair, return_index=True, return_inverse=True, return_counts=True
    )
    _, distinct = np.unique(mixed(pair ^ mixed(signature)), return_index=True)
    contents = np.bincount(places[distinct], minlength=len(numbers))
    enough = np.flatnonzero(contents >= job.min_contents)
    best = enough[np.argsort(-contents[enough], kind="stable")][:_MAX_CANDIDATES]
    return [
        Candidate(int(one[first]), int(other[first]), int(pages[place]), int(contents[place]))
        for place, first in zip(best.tolist(), firsts[best].tolist(), strict=True)
    ]


def send_compared(
    job: MirrorJob, candidates: CandidateSites, slice_: Slice, outbox: Outbox
) -> Mapping[int, tuple[str, int]]:
    """Sends the pages of candidates to their pairs; returns what the sites are called, and how
    many pages each has."""
    sites: dict[int, tuple[str, int]] = {}
    if not len(candidates.sites):
        return sites
    for site, path, signature, forms in _pages(job.crawldb, slice_):
        places = np.searchsorted(candidates.sites, site)
        places[places == len(candidates.sites)] = 0
        rows = np.flatnonzero(candidates.sites[places] == site)
        if not len(rows):
            continue
        _name_sites(sites, site, rows, forms)
        entry = candidates.starts[places[rows]].astype(np.int64)
        counts = candidates.starts[places[rows] + 1].astype(np.int64) - entry
        rows = np.repeat(rows, counts)
        entry = np.repeat(entry, counts) + ranks_within(counts)
        in_sample = (path[rows] & candidates.masks[entry]) == 0
        rows, entry = rows[in_sample], entry[in_sample]
        pair = candidates.pairs[entry]
        compared = pa.table(
            [pair, path[rows], signature[rows], candidates.sides[entry]], schema=COMPARED.schema
        )
        outbox.send(COMPARED, compared, _places(pair, job.destinations))
    return sites


def compare(number: int, received: Received) -> list[tuple[int, int, int, int]]:
    """Of each pair its number, the paths of both, those with the same content, and how many
    contents these have."""
    rows = received.rows(COMPARED)
    pair, path, signature, side = (rows[name].to_numpy() for name in COMPARED.schema.names)
    order = np.lexsort((side, path, pair))
    pair, path, signature, side = (column[order] for column in (pair, path, signature, side))
    is_common = (pair[1:] == pair[:-1]) & (path[1:] == path[:-1]) & (side[1:] != side[:-1])
    common = np.flatnonzero(is_common)
    agreeing = common[signature[common] == signature[common + 1]]
    numbers, counts = np.unique(pair[common], return_counts=True)
    agreed = np.bincount(np.searchsorted(numbers, pair[agreeing]), minlength=len(numbers))
    _, distinct = np.unique(mixed(pair[agreeing] ^ mixed(signature[agreeing])), return_index=True)
    of_distinct = np.searchsorted(numbers, pair[agreeing[distinct]])
    contents = np.bincount(of_distinct, minlength=len(numbers))
    columns = (numbers, counts, agreed, contents)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _pages(crawldb: Folder, slice_: Slice) -> Iterator[tuple[Numbers, Numbers, Numbers, UrlForms]]:
    """Of pages some at a time: the numbers of site, path and content, and the URLs."""
    for pages in each_page(crawldb, slice_):
        forms = UrlForms(as_array(pages["url"]))
        if not forms.usable.all():
            pages = pages.filter(pa.array(forms.usable))
            forms = UrlForms(as_array(pages["url"]))
        signature = row_hashes(column_bytes(as_array(pages["signature"])))
        site = forms.hashes.of(forms.starts, forms.path_starts)
        path = forms.hashes.of(forms.path_starts, forms.row_ends)
        yield site, path, signature, forms


def _name_sites(
    sites: dict[int, tuple[str, int]], site: Numbers, rows: RowPlaces, forms: UrlForms
) -> None:
    numbers, firsts, counts = np.unique(site[rows], return_index=True, return_counts=True)
    examples = rows[firsts]
    names = forms.texts(forms.starts[examples], forms.path_starts[examples])
    for number, name, count in zip(numbers.tolist(), names, counts.tolist(), strict=True):
        sites[number] = name, sites.get(number, (name, 0))[1] + count


def _places(numbers: Numbers, destinations: int) -> RowPlaces:
    return (numbers % np.uint64(destinations)).astype(np.int64)
