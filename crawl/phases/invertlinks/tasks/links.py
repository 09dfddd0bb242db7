"""Links of parsed pages, turned around and sent to the slices of the pages that they lead to.

All by column: a page's URL, host and score are found once and repeated for its links, and what
is done to the links' URLs is done to the distinct ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import ConfigError
from crawl.interfaces.scoring import SCORE_KEY
from crawl.model.arrow import as_array, as_mask, count_true, fill_null, with_column
from crawl.model.derived_tables import LINKDB
from crawl.parsing.anchors import UNFOLLOWABLE, are_followable
from crawl.phases.invertlinks import settings
from crawl.phases.invertlinks.tasks.origin import as_merged
from crawl.rules.sites import Sites, decided
from crawl.storage.folder import Folder
from crawl.storage.layout import distinct
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_whole_table, read_groups
from crawl.tables.bucket_files import stored_groups
from crawl.tables.exchange import Outbox
from crawl.tables.renormalize import Renormalization
from crawl.tables.slices import Router, gathered
from crawl.tables.table_merge import delta_of
from crawl.urls.hosts import hosts_of

LINKS = delta_of(LINKDB)

_COLUMNS = [
    "url",
    *(f"outlinks.list.element.{name}" for name in ("url", "anchor", "tag")),
    "metadata",
]
_LINKS_AT_ONCE = 400_000
"""Links that a sending task gathers before it sends them: blocks of a few rows are dear."""
_PAGES_PER_TASK = 20_000
_GROUPS_AT_ONCE = 16
"""Row groups of parsed pages that are inverted together: what is found once for each distinct
host or URL is found less often."""
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"


@dataclass(frozen=True)
class LinkRules:
    """Which links the LinkDb gets, and with which anchors."""

    ignore_internal: bool = True
    ignore_external: bool = False
    max_anchor_length: int = 100
    renormalization: Renormalization | None = None

    @classmethod
    def of(cls, config: Config, renormalization: Renormalization | None, sites: Sites) -> LinkRules:
        """The rules by the properties, for the links of a crawl that have to do with these sites.
        Raises ConfigError where no link could be left."""
        internal = config[settings.LINKDB_IGNORE_INTERNAL_LINKS]
        external = config[settings.LINKDB_IGNORE_EXTERNAL_LINKS]
        if internal == "true" and external:
            raise ConfigError(
                "linkdb.ignore.internal.links and linkdb.ignore.external.links are both true:"
                " no link would be left"
            )
        ignores = decided(internal, is_one=sites.one_host is not None or external)
        return cls(ignores, external, config[settings.LINKDB_MAX_ANCHOR_LENGTH], renormalization)


@dataclass(frozen=True, slots=True)
class PagesFile:
    """A file of a segment's parse_data."""

    folder: Folder
    path: str
    rows: int
    segment: str


def send_links_tasks(files: list[PagesFile]) -> list[tuple[PagesFile, ...]]:
    """The files, as many together as a task can take."""
    return list(gathered(files, _PAGES_PER_TASK))


def send_links(
    rules: LinkRules, router: Router, files: tuple[PagesFile, ...], outbox: Outbox
) -> Counters:
    """Sends the links of some files to their slices."""
    sending = _Sending(router, outbox)
    for file in files:
        with open_whole_table(file.folder, file.path) as source:
            for start in range(0, source.num_row_groups, _GROUPS_AT_ONCE):
                end = min(start + _GROUPS_AT_ONCE, source.num_row_groups)
                pages = read_groups(source, list(range(start, end)), _COLUMNS)
                sending.add(inverted(pages, file.segment, rules, sending.counters))
    sending.flush()
    return sending.counters


@dataclass(frozen=True, slots=True)
class StoredLinksFile:
    """A file of another LinkDb."""

    folder: Folder
    file: BucketFile
    crawl: str
    """The name of its crawl's folder."""

    @property
    def rows(self) -> int:
        return self.file.rows


def send_stored_links(
    renormalization: Renormalization | None, router: Router, file: StoredLinksFile, outbox: Outbox
) -> Counters:
    """Sends the rows of a file of another LinkDb to their slices."""
    sending = _Sending(router, outbox)
    for rows in stored_groups(file.folder, [file.file]):
        sending.counters["links"] += rows.num_rows
        rows = with_column(rows, "segment", as_merged(rows["segment"], file.crawl))
        sending.add(_renormalized(rows, renormalization, sending.counters))
    sending.flush()
    return sending.counters


@dataclass(slots=True)
class _Sending:
    """Rows that wait until there are enough of them to be sent."""

    router: Router
    outbox: Outbox
    counters: Counters = field(default_factory=Counters)
    waiting: list[pa.Table] = field(default_factory=list)
    rows: int = 0

    def add(self, rows: pa.Table) -> None:
        self.waiting.append(rows)
        self.rows += rows.num_rows
        if self.rows >= _LINKS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        if self.rows:
            rows = pa.concat_tables(self.waiting)
            slices = self.router.slices_of(rows["host"], rows["url"])
            self.outbox.send(LINKS, rows, slices)
            self.counters["links_sent"] += rows.num_rows
        self.waiting, self.rows = [], 0


def inverted(pages: pa.Table, segment: str, rules: LinkRules, counters: Counters) -> pa.Table:
    """The links of parsed pages as rows of the LinkDb, those that the rules leave."""
    counters["pages"] += pages.num_rows
    outlinks = cast("pa.ListArray[Any]", as_array(pages["outlinks"]))
    fields = cast("pa.StructArray", outlinks.flatten())
    counters["links"] += len(fields)
    from_urls = as_array(pages["url"])
    columns = [fields.field("url"), fields.field("anchor"), pc.list_parent_indices(outlinks)]
    links = pa.table(columns, names=["url", "anchor", "page"])
    links = _without(links, UNFOLLOWABLE, ~are_followable(fields.field("tag")), counters)
    renormalization = rules.renormalization
    if renormalization is not None:
        from_urls, pages_accepted = renormalization.of(from_urls, counters)
        urls, accepted = _renormalized_links(renormalization, as_array(links["url"]), counters)
        accepted &= as_mask(pages_accepted)[links["page"].to_numpy()]
        links = _without(with_column(links, "url", urls), "filtered", ~accepted, counters)
    links = links.append_column("host", fill_null(hosts_of(as_array(links["url"])), ""))
    if rules.ignore_internal or rules.ignore_external:
        from_hosts = fill_null(hosts_of(from_urls), "").take(as_array(links["page"]))
        is_internal = as_mask(pc.equal(as_array(links["host"]), from_hosts))
        if rules.ignore_internal:
            links = _without(links, "internal", is_internal, counters)
        else:
            links = _without(links, "external", ~is_internal, counters)
    pages_of_links = as_array(links["page"])
    return pa.table(
        [
            links["url"],
            links["host"],
            from_urls.take(pages_of_links),
            _cut(as_array(links["anchor"]), rules.max_anchor_length, counters),
            _scores(as_array(pages["metadata"])).take(pages_of_links),
            pa.repeat(segment, links.num_rows),
        ],
        schema=LINKDB.schema,
    )


def _without(
    links: pa.Table, reason: str, is_dropped: npt.NDArray[np.bool_], counters: Counters
) -> pa.Table:
    """The links that are not dropped for this reason, by which the others are counted."""
    if not is_dropped.any():
        return links
    counters[f"dropped.{reason}"] += int(np.count_nonzero(is_dropped))
    return links.filter(pa.array(~is_dropped))


def _renormalized(
    rows: pa.Table, renormalization: Renormalization | None, counters: Counters
) -> pa.Table:
    """Stored links under the URLs that are normal today; those that filters reject are left out."""
    if renormalization is None or not rows.num_rows:
        return rows
    accepted = np.ones(rows.num_rows, np.bool_)
    for name in ("url", "from_url"):
        urls, are_accepted = _renormalized_links(renormalization, as_array(rows[name]), counters)
        accepted &= are_accepted
        rows = with_column(rows, name, fill_null(urls, ""))
    hosts = fill_null(hosts_of(as_array(rows["url"])), "")
    return _without(with_column(rows, "host", hosts), "filtered", ~accepted, counters)


def _renormalized_links(
    renormalization: Renormalization, urls: pa.Array[Any], counters: Counters
) -> tuple[pa.Array[Any], npt.NDArray[np.bool_]]:
    """Of each URL its normal form, and whether the filters keep it; distinct ones are asked
    about once."""
    values, places = distinct(urls)
    normal, accepted = renormalization.of(values, counters)
    return normal.take(places), as_mask(accepted)[places]


def _cut(anchors: pa.Array[Any], most: int, counters: Counters) -> pa.Array[Any]:
    """The anchors, none with more characters; few are so long that they have to be looked at."""
    lengths: Any = pc.binary_length(cast("pa.StringArray", anchors))
    long: Any = pc.greater(lengths, pa.scalar(most))
    if not pc.any(long).as_py():
        return anchors
    candidates = anchors.filter(long)
    cut = pc.utf8_slice_codeunits(candidates, 0, most)
    counters["anchors_cut"] += count_true(pc.not_equal(candidates, cut))
    return cast("pa.Array[Any]", pc.replace_with_mask(anchors, long, cut))


def _scores(metadata: pa.Array[Any]) -> pa.Array[Any]:
    """The score that each page had when it was fetched, which scoring plugins keep with its
    parse; 0 where there is none that is a finite number."""
    texts = pc.map_lookup(metadata, pa.scalar(SCORE_KEY), "last")
    if texts.null_count == len(texts):
        return pa.array(np.zeros(len(texts), np.float32))
    is_number = fill_null(pc.match_substring_regex(texts, _NUMBER), False)
    texts = pc.if_else(is_number, texts, pa.scalar("0"))
    numbers = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        scores = numbers.astype(np.float32)
    return pa.array(np.where(np.isfinite(scores), scores, np.float32(0)))
