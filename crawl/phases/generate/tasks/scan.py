"""generate's first step: which records of a slice may be selected, and why not the rest.

The steps and their order are Nutch's, so that a rejected URL is counted under the reason
its users expect; each is asked of a whole row group at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import as_mask, required_schema, strings
from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.metadata import has_any, lookup
from crawl.model.report import BELOW_TOP_N, PER_HOST_OVERFLOW
from crawl.model.tables import CRAWLDB
from crawl.phases.generate.tasks import host_gate
from crawl.phases.generate.tasks.arrays import Integers, Keys, Mask, Shards
from crawl.phases.generate.tasks.host_bounds import own_caps, send_caps, send_delays
from crawl.phases.generate.tasks.host_gate import HostGate
from crawl.phases.generate.tasks.ranking import OwnCaps, keys_of, within_cap
from crawl.phases.generate.tasks.selection import Selection
from crawl.phases.generate.tasks.unfinished import LISTED, NOT_AGAIN
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of, encoded, number_of
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import each_group, open_table
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.hosts import read_hosts
from crawl.tables.matching import MATCHING
from crawl.tables.slices import Router, Slice
from crawl.urls.domains import registered_domain
from crawl.urls.hosts import hosts_of

CANDIDATES = RowKind(
    "candidates",
    required_schema(
        {"key": pa.uint64(), "group": pa.uint64(), "slice": pa.int32(), "row": pa.int32()}
    ),
)
TRIED = RowKind(
    "tried",
    pa.schema(
        [
            *CANDIDATES.schema,
            *required_schema(dict.fromkeys(("bucket", "probed", "slowed"), pa.int32())),
        ]
    ),
)
"""Candidates of hosts of which only some are tried, from buckets of several slices: the shard
knows all of them. With the host's number in its bucket, by the rule, or -1 (see host_gate)."""
WAITING_HOSTS = RowKind("waiting_hosts", required_schema({"host": pa.string()}))
"""Hosts of such buckets that are left out for now: the bucket's first shard counts each once."""

WAIT_FOR_UPDATE = "wait_for_update"
SELECTED_BEFORE = "selected_before"
"""On the list of a segment whose URLs are not to be selected once more."""


@dataclass(frozen=True)
class ScanJob:
    """The scan for records that may be selected: the CrawlDb, the selection, and where the rows are
    sent."""

    selection: Selection
    crawldb: Folder
    router: Router
    has_expr: bool = False
    """Whether only those rows may be selected whose numbers are received."""


@dataclass(frozen=True, slots=True)
class ScanTask:
    """One slice to scan."""

    base: Slice
    hosts: BucketFile | None = None


@dataclass(frozen=True, slots=True)
class ScanTaskResult:
    """Why records are no candidates."""

    counters: Counters
    next_host_ms: int | None = None
    """When the first of the hosts that are left out may be asked again."""


def scan_slice(job: ScanJob, task: ScanTask, received: Received, outbox: Outbox) -> ScanTaskResult:
    """Sends the candidates of a slice to their shards. Received are the URLs on lists of
    unfinished segments and those that are not to be selected once more, and the rows that `--expr`
    holds for."""
    selection = job.selection
    counters = Counters()
    listed = received.rows(LISTED)["url"]
    not_again = received.rows(NOT_AGAIN)["url"]
    columns = _columns(selection, needs_url=len(listed) + len(not_again) > 0)
    matching: Shards | None = None
    if job.has_expr:
        matching = received.rows(MATCHING)["row"].to_numpy()
    gate = gate_of(selection, job.crawldb, task.hosts)
    caps = own_caps(received) if selection.bounds_hosts else None
    scanned = _Scanned(selection, task.base, gate, _Groups(selection, job.router, counters), caps)
    start = 0
    for file in task.base.files:
        with open_table(job.crawldb, file.path, host_codes=True, size=file.bytes) as source:
            for rows in each_group(source, columns):
                place = np.arange(start, start + rows.num_rows, dtype=np.int64)
                start += rows.num_rows
                matches = None if matching is None else np.isin(place, matching)
                alive, values = select(selection, rows, matches, counters, gate, listed, not_again)
                alive_rows = np.flatnonzero(alive)
                if len(alive_rows):
                    scanned.add(rows, alive_rows, values, place)
    scanned.send(counters, outbox)
    if selection.bounds_hosts:
        send_delays(received, task.base.number, outbox)
    return ScanTaskResult(+counters, gate.next_ms)


@dataclass(slots=True)
class _Scanned:
    """The candidates of a slice, on their way to the shards."""

    _selection: Selection
    _base: Slice
    _gate: HostGate
    _groups: _Groups
    _caps: OwnCaps | None
    _tables: list[pa.Table] = field(default_factory=lambda: [TRIED.schema.empty_table()])
    _shards: list[Shards] = field(default_factory=lambda: [np.empty(0, np.int32)])

    def add(
        self, rows: pa.Table, alive: Integers, values: npt.NDArray[np.float32], place: Integers
    ) -> None:
        """Takes rows of a group; `place` is their number in the slice."""
        base, count = self._base, len(alive)
        group, shard = self._groups.of(rows["host"], alive)
        if not self._selection.counts_groups:
            # nothing is counted by group: each slice is a shard, and a giant host is many
            shard = np.full(count, base.number, dtype=np.int32)
        columns = [
            keys_of(values[alive], base.bucket, base.first_row + place[alive]),
            group,
            np.full(count, base.number, dtype=np.int32),
            place[alive].astype(np.int32),
            np.full(count, base.bucket, dtype=np.int32),
            self._gate.probed(rows)[alive],
            self._gate.slowed(rows)[alive],
        ]
        self._tables.append(pa.table(columns, schema=TRIED.schema))
        self._shards.append(shard)

    def send(self, counters: Counters, outbox: Outbox) -> None:
        """Sends those that may be selected, as far as this slice can tell."""
        base, is_whole = self._base, self._base.is_whole
        first_slice = base.number - base.place
        if is_whole:
            counters["hosts_waiting"] += len(self._gate.waiting)
        else:
            waiting = pa.table([sorted(self._gate.waiting)], schema=WAITING_HOSTS.schema)
            outbox.send_all(WAITING_HOSTS, waiting, first_slice)
        every, shards = pa.concat_tables(self._tables), np.concatenate(self._shards)
        every, stays = best_tried(every, counters)
        shards = shards[stays]
        if not is_whole:
            is_tried = _is_tried(every)
            at = shards[is_tried]
            if not self._selection.counts_groups:
                at = np.full(len(at), first_slice, dtype=np.int32)
            outbox.send(TRIED, every.filter(pa.array(is_tried)), at)
            every, shards = every.filter(pa.array(~is_tried)), shards[~is_tried]
        candidates = every.select(CANDIDATES.schema.names)
        candidates, shards = _prune(self._selection, candidates, shards, counters, self._caps)
        if base.place == 0:
            send_caps(self._caps, base.number, outbox)
        outbox.send(CANDIDATES, candidates, shards)


def best_tried(every: pa.Table, counters: Counters) -> tuple[pa.Table, Mask]:
    """The rows (see TRIED) without those of hosts of which better ones are tried, and which these
    are. What is left of several slices can be told from each other in the same way."""
    keys = every["key"].to_numpy()
    is_best = host_gate.best_of_tried(_hosts_by(every, "probed"), keys)
    counters[host_gate.HOST_PROBED] += int(np.count_nonzero(~is_best))
    few = host_gate.best_of_tried(_hosts_by(every, "slowed"), keys, host_gate.TRIED_OF_SLOWED)
    counters[host_gate.SAME_PAGES] += int(np.count_nonzero(is_best & ~few))
    stays = is_best & few
    return (every if stays.all() else every.filter(pa.array(stays))), stays


def _hosts_by(rows: pa.Table, rule: str) -> Integers:
    """A number for the host of each row that the rule is about; else -1."""
    numbers = rows[rule].to_numpy().astype(np.int64)
    buckets = rows["bucket"].to_numpy().astype(np.int64)
    return np.where(numbers < 0, -1, (buckets << 32) | numbers)


def _is_tried(rows: pa.Table) -> Mask:
    is_tried: Mask = (rows["probed"].to_numpy() >= 0) | (rows["slowed"].to_numpy() >= 0)
    return is_tried


def gate_of(selection: Selection, crawldb: Folder, hosts: BucketFile | None) -> HostGate:
    """What is known of the hosts of a bucket. Now, also where URLs are selected as if it were
    later: a host that does not answer is not the readier for it."""
    return HostGate(read_hosts(crawldb, hosts), selection.host_ms, selection.longest_wait_ms)


def select(
    selection: Selection,
    rows: pa.Table,
    matches: Mask | None,
    counters: Counters,
    gate: HostGate | None = None,
    listed: pa.ChunkedArray[Any] | None = None,
    not_again: pa.ChunkedArray[Any] | None = None,
) -> tuple[Mask, npt.NDArray[np.float32]]:
    """Which rows may be selected, with their sort values; every other is counted once."""
    alive = np.ones(rows.num_rows, dtype=bool)

    def require(ok: Mask, reason: str) -> None:
        nonlocal alive
        rejected = int(np.count_nonzero(alive & ~ok))
        if rejected:
            counters[reason] += rejected
            alive = alive & ok

    counters["records"] += rows.num_rows
    if selection.filters is not None:
        accepted = selection.filters.filter_batch(rows["url"].combine_chunks(), counters)
        require(as_mask(accepted), "url_filters_rejected")
    require(as_mask(selection.schedule.due(rows, selection.now_ms, counters)), "schedule_rejected")
    require(~is_reserved(selection, rows), WAIT_FOR_UPDATE)
    if listed is not None and len(listed):
        on_list = pc.is_in(rows["url"], value_set=listed)
        require(~as_mask(on_list), WAIT_FOR_UPDATE)
    if not_again is not None and len(not_again):
        require(~as_mask(pc.is_in(rows["url"], value_set=not_again)), SELECTED_BEFORE)
    if gate is not None:
        require(~gate.waits(rows, alive), host_gate.HOST_WAITS)
        require(~gate.is_stopped(rows, alive), host_gate.SAME_PAGES)
    by_score = selection.scoring.sort_values(rows, counters)
    values = by_score.to_numpy(zero_copy_only=False)
    if matches is not None:
        require(matches, "expr_rejected")
    if selection.restrict_status is not None:
        require(rows["status"].to_numpy() == int(selection.restrict_status), "status_rejected")
    require(~np.isnan(values), "score_not_a_number")
    require(values >= selection.min_score, "score_too_low")
    if selection.min_interval_s >= 0:
        require(rows["fetch_interval"].to_numpy() <= selection.min_interval_s, "interval_rejected")
    if selection.schedule.ranks:  # rarely: most schedules only say what is due
        by_score = selection.schedule.ranked(rows, by_score, selection.now_ms, counters)
        values = by_score.to_numpy(zero_copy_only=False)
    return alive, values


def _columns(selection: Selection, *, needs_url: bool) -> list[str]:
    by_row = selection.schedule.needs_url or selection.scoring.needs_url_to_sort
    if by_row:
        return CRAWLDB.names
    needs_url |= selection.filters is not None
    unread = {"signature"} if needs_url else {"signature", "url"}
    return [name for name in CRAWLDB.names if name not in unread]


def is_reserved(selection: Selection, rows: pa.Table) -> Mask:
    """Which rows bear a mark of a generate whose list is still to be fetched."""
    metadata = rows["metadata"].combine_chunks()
    if not has_any(metadata):
        return np.zeros(rows.num_rows, dtype=bool)
    marked = lookup(metadata, GENERATE_TIME_KEY)
    # a mark that is no number was not made by generate: it reserves nothing
    valid = pc.match_substring_regex(marked, r"^[0-9]{1,18}$")
    times = pc.if_else(valid, marked, None).cast(pa.int64())
    until = pc.add(times, pa.scalar(selection.reserved_ms, pa.int64()))
    return as_mask(pc.greater(until, pa.scalar(selection.now_ms, pa.int64())))


class _Groups:
    """The group (host or domain) that a candidate counts for, and the group's shard.

    Worked out once for each host. A shard is where all candidates of a group meet: for
    hosts the bucket's first slice, so that hardly anything has to move.
    """

    def __init__(self, selection: Selection, router: Router, counters: Counters) -> None:
        self._selection = selection
        self._counters = counters
        self._router = router
        self._numbers: dict[str, tuple[int, int]] = {}

    def of(self, hosts: pa.ChunkedArray[Any], rows: Integers) -> tuple[Keys, Shards]:
        codes = encoded(hosts)
        indices = codes.indices.to_numpy()[rows]
        used = np.flatnonzero(np.bincount(indices, minlength=len(codes.dictionary)))
        names = strings(codes.dictionary.take(used))
        self._learn([host for host in names if host not in self._numbers])
        group = np.zeros(len(codes.dictionary), dtype=np.uint64)
        shard = np.zeros(len(codes.dictionary), dtype=np.int32)
        group[used] = [self._numbers[host][0] for host in names]
        shard[used] = [self._numbers[host][1] for host in names]
        return group[indices], self._router.first_slices(shard[indices])

    def _learn(self, hosts: list[str]) -> None:
        for host, name in zip(hosts, self._names(hosts), strict=True):
            if self._selection.by_domain:
                name = registered_domain(name)
            self._numbers[host] = number_of(name), bucket_of(name, self._router.buckets)

    def _names(self, hosts: list[str]) -> list[str]:
        """The hosts as normalizers of this scope spell them; as they are where they fail."""
        if self._selection.counting is None or not hosts:
            return hosts
        urls = pa.array([f"http://{host}/" if host else None for host in hosts], pa.string())
        normal = hosts_of(self._selection.counting.normalize_batch(urls, self._counters))
        return [name or host for name, host in zip(normal.to_pylist(), hosts, strict=True)]


def _prune(
    selection: Selection,
    candidates: pa.Table,
    shards: Shards,
    counters: Counters,
    caps: OwnCaps | None = None,
) -> tuple[pa.Table, Shards]:
    """Leaves out candidates that can never be taken, whatever the other slices hold."""
    keys = candidates["key"].to_numpy()
    counters["candidates"] += len(keys)
    if selection.counts_groups:
        # not by `most` too: a host's cap may make room for any URL, however low
        groups = candidates["group"].to_numpy()
        most = selection.most_per_group + 1 if selection.most_per_group > 0 else 0
        own = None if caps is None else caps.scaled(selection.segments, 1)
        stays = within_cap(keys, groups, most, own)
        counters[PER_HOST_OVERFLOW] += int(np.count_nonzero(~stays))
    elif selection.most is not None and len(keys) > selection.most:
        lowest = np.partition(keys, -selection.most)[-selection.most]
        stays = keys >= lowest
        counters[BELOW_TOP_N] += int(np.count_nonzero(~stays))
    else:
        return candidates, shards
    if stays.all():
        return candidates, shards
    return candidates.filter(pa.array(stays)), shards[stays]
