"""dedup as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from crawl.operations.operation import Asked, Due, Operation
from crawl.operations.results import PhaseResult
from crawl.operations.shown import counter_rows
from crawl.operations.view import Line, Note, Part, Table, View
from crawl.operations.work import Work
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.dedup.values import DuplicateGroup, PagePair
from crawl.printable import CELL, plural, printable


@dataclass(frozen=True, slots=True)
class DuplicatesResult(PhaseResult):
    """What a dedup did; `snapshot` is the one before where nothing changed."""

    groups: tuple[DuplicateGroup, ...] = ()
    """The largest groups, if they were asked for."""
    pairs: tuple[PagePair, ...] = ()
    """Near duplicates of a preview, the least alike first."""


def run(work: Work, options: DedupOptions) -> DuplicatesResult:
    from crawl.driver.phase_run import run_when_free
    from crawl.phases.dedup import group_files
    from crawl.phases.dedup import run as driver

    driver.check(options)
    if options.report is not None:
        group_files.check_file(options.report)
    work.directory.require_crawldb()
    marked = run_when_free(work, options, work.directory.crawldb.folder, driver.run)
    if options.report is not None:
        group_files.write_groups(options.report, marked.groups, marked.report.counters["groups"])
    return DuplicatesResult.of(
        marked.report,
        remarks=(marked.took_over,),
        snapshot=marked.snapshot.number,
        db_urls=marked.snapshot.rows,
        groups=marked.groups,
        pairs=marked.pairs,
    )


def values(result: DuplicatesResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    from crawl.phases.dedup.group_files import groups_report

    return {
        "snapshot": result.snapshot,
        **groups_report(result.groups, result.counters["groups"]),
        **({"pairs": [asdict(pair) for pair in result.pairs]} if asked.options.pair_count else {}),
        "report": result.report,
    }


def render(result: DuplicatesResult, asked: Asked) -> View:
    """What people are shown."""
    options: DedupOptions = asked.options
    parts: list[Part] = [*_pairs(result)] if options.pair_count else []
    parts.append(Table("dedup", ["what", "count"], counter_rows(result.counters, _FAMILIES)))
    if options.groups:
        rows = [[group.size, group.survivor, *group.duplicates[:1]] for group in result.groups]
        parts.append(Table("largest groups", ["pages", "survivor", "one of the others"], rows))
    parts.append(Note(_outcome(result, asked)))
    if options.report is not None:
        parts.append(Note(_file_text(options.report, result)))
    return parts


def _pairs(result: DuplicatesResult) -> Iterator[Part]:
    """The pairs of a preview: lines with the words of the page that stays, and of the other."""
    for pair in result.pairs:
        yield Line(f"{pair.similarity:.1%} alike")
        yield Line(printable(f"  stays   {pair.url}  {pair.title}", CELL))
        yield Line(printable(f"  marked  {pair.duplicate}  {pair.duplicate_title}", CELL))
        for change in pair.difference.changes:
            yield Line(printable(f"    - {change.one}"))
            yield Line(printable(f"    + {change.other}"))
        if pair.difference.left_out or pair.difference.is_cut:
            more = f"{pair.difference.left_out:,}" if pair.difference.left_out else "some"
            beyond = ", and beyond what was compared" if pair.difference.is_cut else ""
            yield Line(f"    … {more} more{beyond}")
        if not pair.difference.changes:
            yield Line("    (the compared texts are the same)")


def _outcome(result: DuplicatesResult, asked: Asked) -> str:
    counters, crawldb = result.counters, f"{asked.address}/crawldb"
    if asked.options.pair_count:
        return (
            f"{counters['duplicates']:,} duplicates in {crawldb}; a dedup without"
            f" --preview would change {counters['statuses_to_change']:,} records;"
            " nothing was marked"
        )
    if counters["duplicates_marked"] + counters["duplicates_lifted"]:
        return (
            f"{crawldb} is now snapshot {result.snapshot} with"
            f" {counters['duplicates']:,} duplicates,"
            f" {counters['duplicates_marked']:,} of them new;"
            f" no longer duplicates: {counters['duplicates_lifted']:,}"
        )
    return (
        f"{counters['duplicates']:,} duplicates in {crawldb}, as before;"
        f" snapshot {result.snapshot} stays"
    )


def _file_text(file: str, result: DuplicatesResult) -> str:
    in_file, total = len(result.groups), result.counters["groups"]
    groups, urls = total - in_file, sum(group.left_out for group in result.groups)
    left_out = [f"{plural(groups, 'smaller group')} (--groups)"] if groups else []
    left_out += [f"{plural(urls, 'URL')} of those in it (--urls)"] if urls else []
    return f"{in_file:,} of {total:,} groups in {file}" + (
        f"; left out: {' and '.join(left_out)}" if left_out else ""
    )


_FAMILIES = ("records", "groups", "duplicates")

OPERATION = Operation(
    name="dedup",
    run=run,
    render=render,
    values=values,
    uses_spark=True,
    due=Due.IF_ANY,
    help="""
    Mark pages of the CrawlDb of CRAWL_DIR that it has more than once as db_duplicate, all but one;
    a page that no other repeats any more is db_fetched again.

    Pages are the same if their signatures are (`db.signature.class`). Which one survives depends
    on the pages alone, not on who came first: run it as often as you like.
    """,
    examples=(
        "crawl dedup mycrawl",
        "crawl dedup mycrawl --group host --compare-order httpsOverHttp,score,urlLength",
        "crawl dedup mycrawl --near jaccard --preview --pairs 50",
        "crawl dedup mycrawl --near jaccard --canonical --redirects --groups 20",
        "crawl dedup mycrawl --report groups.parquet --groups 100000 --urls 1000",
    ),
    calls=(
        'web.dedup(group="host").counters["duplicates"]',
        "[group.survivor for group in web.dedup(groups=10).groups]",
        '[pair.difference.changes for pair in web.dedup(near="jaccard", preview=20).pairs]',
    ),
)
