"""What the CrawlDb knows of hosts as such: a small file beside a bucket's own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawl.errors import StorageError
from crawl.model.hosts import UNANSWERED, HostState, states_table, to_states
from crawl.model.tables import HOSTS
from crawl.rules.host_wait import waits_until
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.parquet import each_group, open_whole_table
from crawl.tables.bucket_files import BucketTarget, write_bucket


def read_hosts(crawldb: Folder, file: BucketFile | None) -> dict[str, HostState]:
    """The states of a bucket's hosts, by host."""
    if file is None:
        return {}
    with open_whole_table(crawldb, file.path) as source:
        return {state.host: state for group in each_group(source) for state in to_states(group)}


def hosts_target(crawldb: Folder, place: str) -> BucketTarget:
    """Where new files of hosts go: beside those of the CrawlDb's buckets."""
    return BucketTarget(HOSTS, crawldb, place, stem="hosts")


def write_hosts(
    target: BucketTarget, bucket: int, states: Iterable[HostState]
) -> BucketFile | None:
    """The bucket's file; None where there is nothing to know."""
    ordered = sorted(states, key=lambda state: state.host.encode())
    return next(iter(write_bucket(target, bucket, [states_table(ordered)])), None)


def waiting_hosts(
    crawldb: Folder, snapshot: Snapshot, now_ms: int, longest_ms: int
) -> list[HostState]:
    """The hosts that generate leaves out at a moment, or new URLs of which it does; the first
    that it takes again first."""
    waiting = [
        (until, state)
        for file in snapshot.hosts
        for state in read_hosts(crawldb, file).values()
        if (until := left_out_until(state, longest_ms)) > now_ms
    ]
    return [state for _, state in sorted(waiting, key=lambda each: (each[0], each[1].host))]


@dataclass(frozen=True, slots=True)
class SlowHosts:
    """Which hosts a snapshot knows to need all of the time that a request may take: those that
    were given up before it was over. Called with a host; few are asked about."""

    crawldb: Folder
    snapshot: Snapshot

    def __call__(self, host: str) -> bool:
        bucket = bucket_of(host, self.snapshot.buckets)
        try:
            state = read_hosts(self.crawldb, self.snapshot.hosts_of(bucket)).get(host)
        except StorageError:
            return True  # the snapshot may be forgotten by now: no host is wronged
        return state is not None and state.reason == UNANSWERED


def left_out_until(state: HostState, longest_ms: int) -> int:
    """Until when the host, or new URLs of it, are left out."""
    return max(waits_until(state, longest_ms), state.slow_until if longest_ms else 0)
