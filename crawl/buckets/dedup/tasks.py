"""The sending step of an exact dedup: a slice and what it sends."""

from __future__ import annotations

from crawl.buckets.dedup.decide import send_candidates
from crawl.buckets.dedup.members import WantedGroups, send_members
from crawl.buckets.dedup.records import DedupJob, read_records
from crawl.buckets.exchange import Outbox
from crawl.buckets.slices import Slice
from crawl.counters import Counters


def send_slice(job: DedupJob, base: Slice, outbox: Outbox) -> Counters:
    """Sends the best records of a slice, by their signatures."""
    counters = Counters()
    records = read_records(job, base, counters)
    send_candidates(job, base.number, records, outbox)
    return +counters


def send_slice_members(job: DedupJob, wanted: WantedGroups, base: Slice, outbox: Outbox) -> None:
    """Sends URLs of groups that a report tells of."""
    send_members(job, wanted, base, read_records(job, base, Counters()), outbox)
