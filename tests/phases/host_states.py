"""What a CrawlDb made for a test knows of hosts as such."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.config import Config
from crawl.model.hosts import HostState
from crawl.model.report import Report
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of
from crawl.tables.hosts import hosts_target, read_hosts, write_hosts
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW


def put_host_states(directory: CrawlDir, states: Iterable[HostState]) -> None:
    """Publishes a snapshot of the same records that knows these hosts."""
    base = directory.require_crawldb()
    placed: dict[int, list[HostState]] = {}
    for state in states:
        placed.setdefault(bucket_of(state.host, base.buckets), []).append(state)
    with directory.writing_crawldb("test", Config(), ManualClock(NOW)) as transaction:
        target = hosts_target(transaction.folder, transaction.place)
        files = [write_hosts(target, bucket, some) for bucket, some in sorted(placed.items())]
        transaction.publish(
            base.files,
            Report("test", NOW, ""),
            buckets=base.buckets,
            keep=3,
            hosts=[file for file in files if file is not None],
        )


def host_states_of(directory: CrawlDir) -> dict[str, HostState]:
    """Every host that the CrawlDb knows anything of; each lies in its bucket."""
    snapshot = directory.require_crawldb()
    found: dict[str, HostState] = {}
    for file in snapshot.hosts:
        states = read_hosts(directory.crawldb.folder, file)
        assert len(states) == file.rows
        assert {bucket_of(host, snapshot.buckets) for host in states} == {file.bucket}
        assert not found.keys() & states.keys()
        found |= states
    return found
