"""What segments tell of the hosts of a bucket becomes the hosts' new state.

A fetch tells of hosts that failed it; that one answered stands in the records of its pages.
Where a bucket is several slices, each sends what it learned of hosts to the one task that
settles them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.model.arrow import required_schema, with_all_columns
from crawl.model.builders import rows_of, table_of_rows
from crawl.model.hosts import HostState, HostTrouble, merged_troubles, to_troubles
from crawl.model.status import Status
from crawl.model.tables import FETCH_HOSTS
from crawl.phases.updatedb.same_pages import SamePagesRule, after_pages
from crawl.rules.host_wait import after_segment
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import each_group, open_whole_table
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.hosts import read_hosts, write_hosts
from crawl.tables.slices import Router

_ANSWER_STATUSES = tuple(
    int(status) for status in Status if status.is_fetch and status is not Status.FETCH_RETRY
)


TROUBLES = RowKind(
    "host_troubles", FETCH_HOSTS.schema.append(pa.field("segment", pa.int32(), False))
)
"""Troubles of hosts that failed in a fetch, and the segment's place among those to be applied."""

ANSWERS = RowKind(
    "host_answers", required_schema({"host": pa.string(), "segment": pa.int32(), "at": pa.int64()})
)
"""When hosts last answered a page of a segment."""

PAGES = RowKind(
    "host_pages",
    required_schema({"host": pa.string(), "signature": pa.binary(), "count": pa.int64()}),
)
"""How many new pages of hosts have which signature."""

NewPages = dict[str, Counter[bytes]]
"""How many of a host's pages that were fetched for the first time have which signature."""


@dataclass(slots=True)
class HostNews:
    """Answers and new pages of hosts, from the records of their URLs."""

    answers: dict[tuple[str, int], int] = field(default_factory=dict)
    """When each host last answered a page, by host and segment."""
    pages: NewPages = field(default_factory=dict)

    @classmethod
    def received(cls, received: Received) -> HostNews:
        """The sum of the news that the slices of a bucket have sent."""
        news = cls()
        for host, segment, at in rows_of(received.rows(ANSWERS), ANSWERS.schema.names):
            news._answered(host, segment, at)
        for host, signature, count in rows_of(received.rows(PAGES), PAGES.schema.names):
            news.pages.setdefault(host, Counter())[signature] += count
        return news

    def send(self, destination: int, outbox: Outbox) -> None:
        """Sends all that it knows to one destination."""
        answers = [(host, segment, at) for (host, segment), at in self.answers.items()]
        pages = [
            (host, signature, count)
            for host, signatures in self.pages.items()
            for signature, count in signatures.items()
        ]
        outbox.send_all(ANSWERS, table_of_rows(answers, ANSWERS.schema), destination)
        outbox.send_all(PAGES, table_of_rows(pages, PAGES.schema), destination)

    def take_answers(self, rows: pa.Table) -> None:
        """Takes note of the answers among rows of segments, by origin as in a delta."""
        pages = rows.filter(
            pc.is_in(rows["status"], value_set=pa.array(_ANSWER_STATUSES, pa.int8()))
        )
        if pages.num_rows == 0:
            return
        last = (
            pa.table({"host": pages["host"], "origin": pages["origin"], "at": pages["fetch_time"]})
            .group_by(["host", "origin"], use_threads=False)
            .aggregate([("at", "max")])
        )
        for host, origin, at in rows_of(last, ("host", "origin", "at_max")):
            self._answered(host, origin // 2, at)

    def _answered(self, host: str, segment: int, at: int) -> None:
        key = host, segment
        self.answers[key] = max(self.answers.get(key, 0), at)


@dataclass(frozen=True, slots=True)
class HostTroublesFile:
    """A file of a segment's fetch_hosts."""

    folder: Folder
    path: str
    segment: int
    """Its place among those to be applied."""


@dataclass(frozen=True, slots=True)
class HostUpdateJob:
    """An update of the hosts' state: where it is written, how long a host is left alone at the
    most, and when pages count as the same."""

    target: BucketTarget
    longest_ms: int
    same_pages: SamePagesRule


@dataclass(frozen=True, slots=True)
class HostsTask:
    """The hosts of a bucket, and their present file."""

    bucket: int
    base: BucketFile | None


@dataclass(frozen=True, slots=True)
class HostsTaskResult:
    """Their file, which may be the one before; None where there is nothing to know."""

    hosts: BucketFile | None
    counters: Counters


def settle_hosts(job: HostUpdateJob, task: HostsTask, received: Received) -> HostsTaskResult:
    """The hosts of a bucket whose slices have sent what they learned of them."""
    counters = Counters()
    news = HostNews.received(received)
    file = update_hosts(job, task.bucket, task.base, received, news, counters)
    return HostsTaskResult(file, +counters)


def update_hosts(
    job: HostUpdateJob,
    bucket: int,
    base: BucketFile | None,
    received: Received,
    news: HostNews,
    counters: Counters,
) -> BucketFile | None:
    """The bucket's file of hosts, which may be the one before; received is what fetches tell of
    hosts that failed."""
    troubles = _troubles(received)
    answers, pages = news.answers, news.pages
    if base is None and not troubles and not pages:
        return None
    states = read_hosts(job.target.folder, base)
    new = dict(states)
    last_answer: dict[str, int] = {}
    for key in sorted({*troubles, *answers}, key=lambda each: (each[1], each[0])):
        host, answered_at = key[0], answers.get(key, 0)
        last_answer[host] = max(last_answer.get(host, 0), answered_at)
        state = new.get(host) or HostState(host)
        after = after_segment(state, troubles.get(key), answered_at, job.longest_ms)
        if after is state:
            continue
        if after.wait_until > max(after.last, state.wait_until):
            counters["hosts_put_off"] += 1
        elif state.failures and not after.failures:
            counters["hosts_answer_again"] += 1
        new[host] = after
    for host, signatures in pages.items():
        state = new.get(host) or HostState(host)
        after = after_pages(state, signatures, last_answer.get(host, 0), job.same_pages)
        if after.slowed > state.slowed:
            counters["hosts_slowed"] += 1
        new[host] = after
    new = {host: state for host, state in new.items() if state != HostState(host)}
    if new == states:
        return base
    return write_hosts(job.target, bucket, new.values())


def send_troubles(file: HostTroublesFile, router: Router, outbox: Outbox) -> None:
    """Sends what a fetch tells of hosts that failed to the first slices of their buckets."""
    with open_whole_table(file.folder, file.path) as source:
        for group in each_group(source):
            rows = with_all_columns(group, FETCH_HOSTS.schema)
            number = pa.array(np.full(rows.num_rows, file.segment, dtype=np.int32))
            rows = rows.append_column(TROUBLES.schema.field("segment"), number)
            buckets = buckets_of(rows["host"], router.buckets)
            outbox.send(TROUBLES, rows, router.first_slices(buckets))


def _troubles(received: Received) -> dict[tuple[str, int], HostTrouble]:
    """What the fetches say of hosts that failed, by host and segment: several parts of one may
    tell of the same host."""
    rows = received.rows(TROUBLES)
    segments = rows["segment"].to_numpy()
    return {
        (trouble.host, segment): trouble
        for segment in np.unique(segments).tolist()
        for trouble in merged_troubles(
            to_troubles(rows.filter(pa.array(segments == segment)).drop_columns(["segment"]))
        )
    }
