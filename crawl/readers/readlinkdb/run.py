"""readlinkdb: what links to a URL, and dumps of the LinkDb."""

from __future__ import annotations

from functools import partial
from typing import Any

from crawl.config import Config
from crawl.driver.output_folder import SUCCESS, make_room
from crawl.interfaces.urlnormalizer import Scope
from crawl.phases.invertlinks.linkdb import linkdb_of, reading_linkdb
from crawl.phases.invertlinks.tasks.dump import LinkDumpJob, as_inlinks, dump_links
from crawl.phases.invertlinks.tasks.inlinks import inlinks_of_url
from crawl.readers.readdb.lookup import spellings
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices


def inlinks_of(directory: CrawlDir, url: str, config: Config) -> dict[str, Any] | None:
    """The URL as the LinkDb has it and its inlinks, best-scored first; of its normal form where
    nothing links to it as it was typed; None where nothing does."""
    folder = linkdb_of(directory).folder
    return reading_linkdb(directory, lambda snapshot: _find(folder, snapshot, url, config))


def _find(folder: Folder, snapshot: Snapshot, url: str, config: Config) -> dict[str, Any] | None:
    for name in spellings(url, config, Scope.LINKDB):
        links = inlinks_of_url(folder, snapshot, name)
        if links.num_rows:
            return as_inlinks(name, links.to_pylist())
    return None


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
