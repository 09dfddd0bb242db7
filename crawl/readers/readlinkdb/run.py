"""readlinkdb: what links to a URL, and dumps of the LinkDb."""

from __future__ import annotations

from functools import partial

from crawl.driver.output_folder import SUCCESS, make_room
from crawl.phases.invertlinks.linkdb import reading_linkdb
from crawl.phases.invertlinks.tasks.dump import LinkDumpJob, dump_links
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices


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
