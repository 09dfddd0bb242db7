"""mergelinkdb: the LinkDbs of other crawls are taken into a crawl's own.

Steps: send (a task a file of the others) → merge (a task a slice to which links were sent) →
publish. What is merged twice is there once: links are chosen as invertlinks chooses them. They
bear the name of their crawl, so that no inversion of a segment takes them for its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_FILE_ROWS
from crawl.driver.empty_results import merge_remarks
from crawl.driver.link_sites import known_sites, rules_before, sites_note
from crawl.driver.merge_table import in_buckets
from crawl.driver.observed import observed
from crawl.driver.phase_run import PhaseRun, Published
from crawl.errors import UsageError
from crawl.interfaces.urlnormalizer import Scope
from crawl.phases.invertlinks.linkdb import (
    buckets_wanted,
    linkdb_of,
    merge_sent,
    require_linkdb,
    target_of,
)
from crawl.phases.invertlinks.tasks.links import StoredLinksFile, send_stored_links
from crawl.phases.mergelinkdb.options import MergeLinkDbOptions
from crawl.rules.sites import Sites
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import split_address
from crawl.storage.manifest import BucketFile, Snapshot
from crawl.storage.reading import read_while_kept
from crawl.tables.bucket_files import largest_first
from crawl.tables.renormalize import Renormalization
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices

_Other = tuple[CrawlDir, Snapshot]
"""Another crawl, and the state of its LinkDb that is taken in."""


def check(crawl_dir: CrawlDir, config: Config, options: MergeLinkDbOptions) -> None:
    """Raises what is wrong with the settings or the LinkDbs, before anything is started."""
    _renormalization(config, options)
    _others(crawl_dir, config, options, linkdb_of(crawl_dir).current())


def _others(
    crawl_dir: CrawlDir, config: Config, options: MergeLinkDbOptions, base: Snapshot | None
) -> list[_Other]:
    """The LinkDbs to take in; raises where one is not there, or has other buckets."""
    if not options.others:
        raise UsageError("name at least one crawl whose LinkDb is to be merged")
    states = []
    for address in options.others:
        other = CrawlDir(address)
        if other.folder.address == crawl_dir.folder.address:
            raise UsageError(f"{address} is the crawl whose LinkDb the others are merged into")
        states.append((other, require_linkdb(other)))
    buckets = _buckets(crawl_dir, config, base, [snapshot for _, snapshot in states])
    for other, snapshot in states:
        if snapshot.buckets != buckets and not options.rebucket:
            raise UsageError(
                f"the LinkDb of {other.address} has {snapshot.buckets} buckets, and that of"
                f" {crawl_dir.address} {'has' if base else 'gets'} {buckets}:"
                " --rebucket merges them all the same"
            )
    return states


def _buckets(
    crawl_dir: CrawlDir, config: Config, base: Snapshot | None, others: Sequence[Snapshot]
) -> int:
    """Those of the LinkDb or the CrawlDb that is there; else of the first that is taken in."""
    if base is None and crawl_dir.crawldb.current() is None:
        return others[0].buckets
    return buckets_wanted(crawl_dir, config, base)


def _renormalization(config: Config, options: MergeLinkDbOptions) -> Renormalization | None:
    return Renormalization.from_config(config, Scope.LINKDB, options.normalize, options.filter)


@observed("mergelinkdb")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: MergeLinkDbOptions, clock: Clock
) -> Published:
    """Takes the LinkDbs in and publishes a new snapshot."""
    phase = PhaseRun.begin("mergelinkdb", crawl_dir, config, options, clock)
    report = phase.report
    renormalization = _renormalization(config, options)
    with phase.writing(linkdb_of(crawl_dir)) as transaction:
        target = target_of(transaction, config)

        def merge(others: list[_Other]) -> tuple[list[BucketFile], int, dict[str, Any]]:
            snapshots = [snapshot for _, snapshot in others]
            buckets = _buckets(crawl_dir, config, transaction.base, snapshots)
            base = in_buckets(runner, transaction.base, target, buckets, "mergelinkdb: rebucket")
            slices = Slices.to_write(base, buckets, config[CRAWLDB_FILE_ROWS])
            send = partial(send_stored_links, renormalization, slices.router)
            sent = runner.exchange(send, _files(others), len(slices), "mergelinkdb: send")
            merged = merge_sent(sent, slices, target, config, report)
            report.details["merged"] = [
                {"crawl": other.address, "snapshot": snapshot.number, "links": snapshot.rows}
                for other, snapshot in others
            ]
            return merged, buckets, _merged_note(transaction.base, snapshots)

        with phase.timed("merge"):
            # nobody locks the others: their writers may forget what is being read
            merged, buckets, note = read_while_kept(
                lambda: _others(crawl_dir, config, options, transaction.base),
                lambda others: all(linkdb_of(other).is_kept(state) for other, state in others),
                merge,
            )
        linkdb = phase.publish(transaction, merged, buckets=buckets, notes=note)
        remarks = merge_remarks(crawl_dir.address, options.others, report.counters)
        return Published(linkdb, report, tuple(remarks), transaction.lock.took_over)


def _merged_note(base: Snapshot | None, others: Sequence[Snapshot]) -> dict[str, Any]:
    """Which sites the links of all have to do with. Where the links of one were kept for having to
    do with one site, the next invertlinks sees to it that this holds for all."""
    snapshots = [*([] if base is None else [base]), *others]
    sites, rules = Sites(), dict[str, bool]()
    for snapshot in snapshots:
        sites |= known_sites(snapshot)
        rules |= {name: value for name, value in rules_before(snapshot).items() if not value}
    return sites_note(sites, rules)


def _files(others: list[_Other]) -> list[StoredLinksFile]:
    return largest_first(
        StoredLinksFile(linkdb_of(other).folder, file, split_address(other.folder.address)[1])
        for other, snapshot in others
        for file in snapshot.files
    )
