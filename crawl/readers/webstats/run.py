"""Statistics of a crawl: names and how far each is fetched, answers by code, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from crawl.driver.segment_choice import not_parsed
from crawl.errors import UsageError
from crawl.readers.webstats.distribution import add_counts
from crawl.readers.webstats.link_counts import (
    InDegrees,
    LinkTask,
    OutDegrees,
    count_inlinks,
    find_urls,
    send_inlinks,
    send_links,
)
from crawl.readers.webstats.name_counts import (
    NameJob,
    NameSummary,
    by_size,
    count_codes,
    send_counts,
    summarize_names,
)
from crawl.readers.webstats.options import NameKind
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import PARSE_DATA, Segment
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner


def count_names(
    runner: Runner, crawl_dir: CrawlDir, snapshot: Snapshot, kind: NameKind, top: int
) -> NameSummary:
    """The URLs of each host, domain, suffix or top-level domain by status, with the `top`
    names with the most pages."""
    count = max(1, min(snapshot.buckets, len(snapshot.files)))
    job = NameJob(crawl_dir.crawldb.folder, kind, count, top)
    files = largest_first(snapshot.files)
    sent = runner.exchange(partial(send_counts, job), files, count, "statistics: count")
    numbers = [(number, number) for number in range(count)]
    total = NameSummary()
    for summary in sent.run(partial(summarize_names, job), numbers, "statistics: add up"):
        add_counts(total, summary)
    total.top = sorted(total.top, key=by_size)[:top]
    return total


def count_answers(
    runner: Runner, crawl_dir: CrawlDir, snapshot: Snapshot
) -> Counter[tuple[str, int]]:
    """URLs by the code of their last answer and by status."""
    counted = runner.run(
        partial(count_codes, crawl_dir.crawldb.folder),
        largest_first(snapshot.files),
        "statistics: codes",
    )
    return sum(counted, Counter())


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """The links of a crawl's pages, as they were when each was last parsed."""

    segments: int
    outlinks: OutDegrees
    inlinks: InDegrees
    top: list[tuple[int, str]]
    """The most linked URLs: links, URL."""


def parsed_segments(crawl_dir: CrawlDir, names: Iterable[str] = ()) -> list[Segment]:
    """The named segments, oldest first, or all that are parsed. Raises UsageError where one of
    those that are named is not."""
    named = [crawl_dir.segments.segment(name) for name in sorted(set(names))]
    for segment in named:
        if lack := not_parsed(crawl_dir, segment):
            raise UsageError(lack)
    return named or [each for each in crawl_dir.segments.generated() if each.is_done(PARSE_DATA)]


def parse_files(parsed: list[Segment]) -> list[LinkTask]:
    """The files with the links of these segments, newest first."""
    return [
        LinkTask(segment.part_folder(PARSE_DATA), file.path, file.rows, age)
        for age, segment in enumerate(reversed(parsed))
        for file in segment.require(PARSE_DATA).files
    ]


def count_links(runner: Runner, tasks: list[LinkTask], top: int) -> LinkSummary:
    """Counts the links of these files, and lists the `top` most linked URLs."""
    ordered = largest_first(tasks)
    count = max(1, len(ordered))
    numbers = [(number, number) for number in range(count)]
    sent = runner.exchange(partial(send_links, count), ordered, count, "linkstats: links")
    inverted = sent.send(partial(send_inlinks, count), numbers, count, "linkstats: pages")
    counts = inverted.run(partial(count_inlinks, top), numbers, "linkstats: targets")
    outlinks, inlinks = OutDegrees(), InDegrees()
    for each in inverted.results():
        add_counts(outlinks, each)
    for some in counts:
        add_counts(inlinks, some)
    inlinks.top = sorted(inlinks.top, key=lambda each: (-each[0], each[1]))[:top]
    numbers_shown = np.array([number for _, number in inlinks.top], np.uint64)
    urls: dict[int, str] = {}
    if len(numbers_shown):
        for names in runner.run(partial(find_urls, numbers_shown), ordered, "linkstats: names"):
            urls.update(names)
    ranked = sorted(
        ((links, urls[number]) for links, number in inlinks.top),
        key=lambda each: (-each[0], each[1]),
    )
    segments = len({task.folder.address for task in tasks})
    return LinkSummary(segments, outlinks, inlinks, ranked)
