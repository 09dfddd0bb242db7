"""readlinkdb: what links to a URL, and dumps of the LinkDb."""

from __future__ import annotations

from functools import partial

from crawl.buckets.bucket_files import largest_first
from crawl.buckets.linkdb.dump import LinkDumpJob, dump_links
from crawl.buckets.runner import Runner
from crawl.buckets.slices import Slices
from crawl.phases.linkdb import reading_linkdb
from crawl.phases.readdb import SUCCESS, make_room
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot


def dump(runner: Runner, crawl_dir: CrawlDir, job: LinkDumpJob) -> int:
    """Writes the wanted links into a folder that has room, anew where the LinkDb was replaced
    meanwhile; returns how many."""
    return reading_linkdb(
        crawl_dir, partial(_dump, runner, job), partial(make_room, job.output, overwrite=True)
    )


def _dump(runner: Runner, job: LinkDumpJob, snapshot: Snapshot) -> int:
    slices = Slices.of(snapshot, snapshot.buckets)
    tasks = largest_first(slices.stored())
    written = runner.run(partial(dump_links, job), tasks, "readlinkdb: dump")
    job.output.write(SUCCESS, b"")
    return sum(written)
