"""Which segments index takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from crawl.driver.segment_choice import (
    ChosenSegments,
    SegmentRule,
    choose_segments,
    interrupted,
    not_parsed,
    require_some,
)
from crawl.errors import UsageError
from crawl.model.derived_tables import INDEX
from crawl.phases.index.options import IndexOptions
from crawl.phases.index.returning import may_return
from crawl.phases.index.tasks.outputs import check_places, missed_segments
from crawl.phases.index.tasks.writers import WriterSpec
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import FETCH, PARSE, PARSE_DATA, Segment


def choose(
    crawl_dir: CrawlDir, options: IndexOptions, specs: Sequence[WriterSpec]
) -> ChosenSegments:
    """The segments to index; raises UsageError where there is none, a named one cannot be meant,
    or a writer's folder is not its own. Named ones are indexed also where they were before."""
    ledger = crawl_dir.dataset(INDEX).current()
    check_places(crawl_dir, specs, ledger, rebuild=options.rebuild)
    missed = missed_segments(ledger, [spec.id for spec in specs])
    # not again: an index of half a segment would say that it has the segment
    rule = parsed_once(crawl_dir, "the index", ("index", "indexes", "indexed"))
    applied = ledger.applied if ledger else {}
    taken = {} if options.segments else _taken(crawl_dir, options, applied, missed)
    choice = choose_segments(crawl_dir, options.segments, taken, rule)
    if takes_what_is_new(options):
        choice.remarks += _catching_up(choice, missed)
    if not choice.segments and looks_for_returning(crawl_dir, options):
        return choice
    return require_some(choice, crawl_dir, rule)


def parsed_once(crawl_dir: CrawlDir, destination: str, words: tuple[str, str, str]) -> SegmentRule:
    """What is taken in is a whole parse, and not again; `words`: verb, third person, participle."""
    return SegmentRule(
        partial(not_parsed, crawl_dir),
        lambda segment: interrupted(crawl_dir, segment, FETCH, PARSE),
        destination,
        *words,
        can_repeat=False,
    )


def takes_what_is_new(options: IndexOptions) -> bool:
    return not (options.segments or options.every or options.rebuild or options.since is not None)


def looks_for_returning(crawl_dir: CrawlDir, options: IndexOptions) -> bool:
    """Whether pages of older segments are asked for that may be kept out no longer."""
    if not options.crawldb or not takes_what_is_new(options):
        return False
    return may_return(crawl_dir.dataset(INDEX).current(), crawl_dir.require_crawldb())


def later_segments(
    crawl_dir: CrawlDir, ledger: Snapshot | None, choice: ChosenSegments
) -> list[Segment]:
    """The segments after the first chosen one that were indexed before: they may have newer words
    of its pages, such as that one is not to be indexed."""
    if ledger is None or not choice.segments:
        return []
    first = min(choice.names)
    return [
        segment
        for segment in crawl_dir.segments.generated()
        if segment.name > first
        and segment.name in ledger.applied
        and segment.name not in choice.names
        and segment.is_done(PARSE_DATA)
    ]


def _catching_up(choice: ChosenSegments, missed: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """A line for each writer that is given what the others have already."""
    for writer, names in missed.items():
        count = len(set(names).intersection(choice.names))
        if count:
            many = "1 segment was" if count == 1 else f"{count:,} segments were"
            again = "is read again" if count == 1 else "are read again"
            yield f"{writer}: {many} indexed without it, and {again}"


def _taken(
    crawl_dir: CrawlDir,
    options: IndexOptions,
    applied: Mapping[str, int],
    missed: Mapping[str, tuple[str, ...]],
) -> Mapping[str, int]:
    """The segments that are not to be indexed, and since when they are in the index."""
    if options.every or options.rebuild:
        return {}
    if options.since is None:
        lacking = {name for names in missed.values() for name in names}
        return {name: number for name, number in applied.items() if name not in lacking}
    crawldb = crawl_dir.require_crawldb()
    if options.since > crawldb.number:
        raise UsageError(
            f"--since {options.since}: the CrawlDb's newest snapshot is {crawldb.number}"
        )
    new = {name for name, number in crawldb.applied.items() if number > options.since}
    every = [segment.name for segment in crawl_dir.segments.generated()]
    return {name: applied.get(name, 0) for name in every if name not in new}
