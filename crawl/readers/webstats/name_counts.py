"""URLs of hosts, domains, suffixes or top-level domains by status: counted where they lie, added
up where all counts of a name meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.answer_keys import CODE_KEY
from crawl.model.arrow import as_array, required_schema, strings
from crawl.model.status import DB_STATUSES, Status
from crawl.readers.webstats.distribution import distribution_of
from crawl.readers.webstats.options import NameKind
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of, encoded
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import each_group, open_table
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.value_counts import value_counts
from crawl.urls.domains import public_suffix, registered_domain, tld

NAME_COUNTS = RowKind(
    "name_counts", required_schema({"name": pa.string(), "status": pa.int8(), "urls": pa.int64()})
)
"""URLs of a name that have a status."""

FETCHED = (Status.DB_FETCHED, Status.DB_NOTMODIFIED)
"""What Nutch counts as fetched."""
_DONE = {
    "redirected": (Status.DB_REDIR_TEMP, Status.DB_REDIR_PERM),
    "duplicates": (Status.DB_DUPLICATE,),
    "gone": (Status.DB_GONE,),
    "parse_failed": (Status.DB_PARSE_FAILED,),
    "orphans": (Status.DB_ORPHAN,),
}
"""What is neither fetched nor waiting to be: nothing is left to do about such URLs."""
NO_SUFFIX = "(none)"
"""Stands for the suffix of a host that has none: an address, a name of one's own network."""
_FETCHED_PLACES = [DB_STATUSES.index(status) for status in FETCHED]
_UNFETCHED_PLACE = DB_STATUSES.index(Status.DB_UNFETCHED)
_STATUS_CODES = pa.array(map(int, DB_STATUSES), pa.int8())


_NAMES: Mapping[NameKind, Callable[[str], str]] = {
    NameKind.HOST: lambda host: host,
    NameKind.DOMAIN: registered_domain,
    NameKind.SUFFIX: lambda host: public_suffix(host) or NO_SUFFIX,
    NameKind.TLD: lambda host: tld(host) or NO_SUFFIX,
}


@dataclass(frozen=True, slots=True)
class NameJob:
    """A count of URLs by name and status: the CrawlDb, the kind of name, and how many names are
    listed."""

    crawldb: Folder
    kind: NameKind
    destinations: int
    top: int
    """How many names are listed."""


@dataclass(slots=True)
class NameSummary:
    """What is known of all names together, and of the largest."""

    names: int = 0
    whole_names: int = 0
    """Names none of whose URLs waits to be fetched."""
    begun_names: int = 0
    """Names of which any URL is fetched."""
    statuses: Counter[str] = field(default_factory=Counter)
    top: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    """By URLs fetched, then by URLs; with the counts of each status of DB_STATUSES."""
    fetched_sizes: Counter[int] = field(default_factory=Counter)
    """How many names have so many URLs fetched."""
    sizes: Counter[int] = field(default_factory=Counter)
    """How many names have so many URLs."""

    @property
    def fetched(self) -> int:
        """The URLs that are fetched."""
        return sum(self.statuses[status.label] for status in FETCHED)


def fetched_of(counts: tuple[int, ...]) -> int:
    """How many of the URLs are fetched."""
    return sum(counts[place] for place in _FETCHED_PLACES)


def completeness(counts: Sequence[int]) -> dict[str, Any]:
    """What URLs, counted by the statuses of DB_STATUSES, have come to: fetched, unfetched, or done
    in another way; `not_fetched` is Nutch's UNFETCHED, all that is not fetched."""
    of = dict(zip(DB_STATUSES, counts, strict=True))
    urls, fetched, unfetched = (
        sum(counts),
        sum(of[each] for each in FETCHED),
        counts[_UNFETCHED_PLACE],
    )
    return {
        "fetched": fetched,
        "unfetched": unfetched,
        **{name: sum(of[each] for each in statuses) for name, statuses in _DONE.items()},
        "not_fetched": urls - fetched,
        "share": (urls - unfetched) / urls if urls else 1.0,
    }


def by_size(entry: tuple[str, tuple[int, ...]]) -> tuple[int, int, str]:
    """The order of names: most fetched first, then most URLs."""
    name, counts = entry
    return -fetched_of(counts), -sum(counts), name


def send_counts(job: NameJob, file: BucketFile, outbox: Outbox) -> None:
    """Counts the URLs of a file, and sends each name's to where all of them meet."""
    with open_table(job.crawldb, file.path, host_codes=True, size=file.bytes) as source:
        counts = [value_counts(rows) for rows in each_group(source, ["host", "status"])]
    if not counts:
        return
    by_host = pa.concat_tables(counts)
    by_host = by_host.filter(pc.is_in(by_host["status"], _STATUS_CODES))
    hosts = encoded(by_host["host"])
    names = pa.array(map(_NAMES[job.kind], strings(hosts.dictionary)), pa.string())
    columns: list[Any] = [names.take(hosts.indices), by_host["status"], by_host["count_all"]]
    rows = _added(pa.Table.from_arrays(columns, schema=NAME_COUNTS.schema))
    outbox.send(NAME_COUNTS, rows, buckets_of(as_array(rows["name"]), job.destinations))


def _added(rows: pa.Table) -> pa.Table:
    """With one row of each name and status."""
    sums = rows.group_by(["name", "status"], use_threads=False).aggregate([("urls", "sum")])
    return sums.rename_columns(rows.column_names).cast(rows.schema)


def summarize_names(job: NameJob, number: int, received: Received) -> NameSummary:
    """Adds up the counts of the names that meet here."""
    rows = _added(received.rows(NAME_COUNTS))
    if not rows.num_rows:
        return NameSummary()
    labels = [status.label for status in DB_STATUSES]
    codes = encoded(rows["name"])
    names = codes.dictionary
    matrix = np.zeros((len(names), len(labels)), np.int64)
    places = pc.index_in(rows["status"], _STATUS_CODES).to_numpy()
    matrix[codes.indices.to_numpy(), places] = rows["urls"].to_numpy()
    urls, fetched = matrix.sum(axis=1), matrix[:, _FETCHED_PLACES].sum(axis=1)
    likely = np.lexsort((-urls, -fetched))
    # names of the same size are told in the order of their names
    last = likely[min(job.top, len(likely)) - 1] if job.top else likely[0]
    ties = (fetched > fetched[last]) | ((fetched == fetched[last]) & (urls >= urls[last]))
    listed = np.flatnonzero(ties) if job.top else likely[:0]
    candidates = zip(strings(names.take(listed)), matrix[listed].tolist(), strict=True)
    top = sorted(((name, tuple(counts)) for name, counts in candidates), key=by_size)[: job.top]
    return NameSummary(
        len(names),
        int(np.count_nonzero(matrix[:, _UNFETCHED_PLACE] == 0)),
        int(np.count_nonzero(fetched)),
        Counter(
            {label: int(total) for label, total in zip(labels, matrix.sum(axis=0), strict=True)}
        ),
        top,
        distribution_of(fetched[fetched > 0]),
        distribution_of(urls),
    )


UNFETCHED = "UNFETCHED"
"""Nutch's word for a URL without an answer."""


def count_codes(crawldb: Folder, file: BucketFile) -> Counter[tuple[str, int]]:
    """The URLs of a file by the code of their last answer, and by status."""
    answers: Counter[tuple[str, int]] = Counter()
    with open_table(crawldb, file.path, size=file.bytes) as source:
        for rows in each_group(source, ["status", "metadata"]):
            codes = pc.map_lookup(rows["metadata"], CODE_KEY, "last")
            counts = value_counts(pa.table({"code": codes, "status": rows["status"]})).to_pydict()
            for code, status, count in zip(*counts.values(), strict=True):
                answers[(UNFETCHED if code is None else code, status)] += count
    return answers
