"""lengths: how long the URLs of a CrawlDb are."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from acme_lengths.options import LengthsOptions
from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work


@dataclass(frozen=True, slots=True)
class Lengths:
    """What was counted."""

    urls: int
    longest: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def run(work: Work, options: LengthsOptions) -> Lengths:
    from crawl.storage.scan import scan_file

    directory = work.directory
    snapshot = directory.require_crawldb()
    work.notice("lengths: reading")
    stopped = threading.Event()
    if options.slowly:
        with work.cancellation.calling(stopped.set):
            stopped.wait(120)
        work.cancellation.require_not_asked()
    urls: list[str] = []
    for file in snapshot.files:
        for batch in scan_file(directory.crawldb.folder, file.path, ["url"], ()):
            urls += map(str, batch["url"].to_pylist())
    longest = sorted(urls, key=lambda url: (-len(url), url))[: options.longest]
    return Lengths(len(urls), tuple(longest), ("every URL was measured",))


def render(done: Lengths, asked: Asked) -> View:
    rows = [[len(url), url] for url in done.longest]
    return [Table("longest", ["length", "url"], rows), Note(f"{done.urls:,} URLs")]


OPERATION = Operation(
    name="lengths",
    summary="how long the URLs are",
    options=LengthsOptions,
    result=Lengths,
    run=run,
    render=render,
    help="List the longest URLs of the CrawlDb of CRAWL_DIR.",
    examples=("crawl lengths mycrawl --longest 10",),
    calls=("web.lengths(longest=10).longest",),
)
