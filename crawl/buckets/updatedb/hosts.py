"""What segments tell of the hosts of a bucket becomes the hosts' new state.

A fetch tells of hosts that failed it; that one answered stands in the records of its pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from crawl.buckets.bucket_files import BucketTarget
from crawl.buckets.hosts import read_hosts, write_hosts
from crawl.counters import Counters
from crawl.model.arrow import strings
from crawl.model.hosts import HostState, HostTrouble, to_troubles
from crawl.model.status import Status
from crawl.rules.host_wait import after_segment
from crawl.rules.same_pages import SamePagesRule, after_pages
from crawl.storage.bucketed import read_bucket
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile

_ANSWERED = tuple(
    int(status) for status in Status if status.is_fetch and status is not Status.FETCH_RETRY
)


NewPages = dict[str, Counter[bytes]]
"""How many of a host's pages that were fetched for the first time have which signature."""


@dataclass(frozen=True, slots=True)
class HostTroublesFile:
    """A file of a segment's fetch_hosts."""

    folder: Folder
    path: str
    segment: int
    """Its place among those to be applied."""


@dataclass(frozen=True, slots=True)
class HostUpdateJob:
    """What every task needs to know."""

    target: BucketTarget
    buckets: int
    longest_ms: int
    same_pages: SamePagesRule
    troubles: Sequence[HostTroublesFile] = ()


def update_hosts(
    job: HostUpdateJob,
    bucket: int,
    base: BucketFile | None,
    rows: pa.Table,
    pages: NewPages,
    counters: Counters,
) -> BucketFile | None:
    """The bucket's file of hosts, which may be the one before; `rows` are those of the
    segments for the bucket, by origin as in a delta."""
    troubles = _troubles(job, bucket)
    if base is None and not troubles and not pages:
        return None
    states = read_hosts(job.target.folder, base)
    answers = _answers(rows)
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


def _troubles(job: HostUpdateJob, bucket: int) -> dict[tuple[str, int], HostTrouble]:
    """What the fetches say of hosts that failed, by host and segment."""
    return {
        (trouble.host, file.segment): trouble
        for file in job.troubles
        for trouble in to_troubles(read_bucket(file.folder, file.path, bucket, job.buckets))
    }


def _answers(rows: pa.Table) -> dict[tuple[str, int], int]:
    """When each host last answered a page, by host and segment."""
    pages = rows.filter(pc.is_in(rows["status"], value_set=pa.array(_ANSWERED, pa.int8())))
    if pages.num_rows == 0:
        return {}
    hosts = pages["host"]
    if pa.types.is_dictionary(hosts.type):
        hosts = hosts.cast(pa.string())
    last = (
        pa.table({"host": hosts, "origin": pages["origin"], "at": pages["fetch_time"]})
        .group_by(["host", "origin"], use_threads=False)
        .aggregate([("at", "max")])
    )
    times: list[int] = last["at_max"].cast(pa.int64()).to_numpy().tolist()
    origins: list[int] = last["origin"].to_numpy().tolist()
    found: dict[tuple[str, int], int] = {}
    for host, origin, at in zip(strings(last["host"]), origins, times, strict=True):
        key = host, origin // 2
        found[key] = max(found.get(key, 0), at)
    return found
