"""readlinkdb: what links to a URL, and dumps of the LinkDb."""

from __future__ import annotations

from functools import partial

from crawl.buckets.bucket_files import largest_first
from crawl.buckets.linkdb.dump import LinkDumpJob, dump_links
from crawl.buckets.runner import Runner
from crawl.buckets.slices import Slices
from crawl.phases.readdb import SUCCESS
from crawl.storage.manifest import Snapshot


def dump(runner: Runner, snapshot: Snapshot, job: LinkDumpJob) -> int:
    """Writes the wanted links into a folder that has room; returns how many."""
    slices = Slices.of(snapshot, snapshot.buckets)
    tasks = largest_first(slices.stored())
    written = runner.run(partial(dump_links, job), tasks, "readlinkdb: dump")
    job.output.write(SUCCESS, b"")
    return sum(written)
