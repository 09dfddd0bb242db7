"""crawl dedup."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from crawl.cli.common.if_due import with_if_due
from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    steal_lock_option,
    with_config,
    with_spark,
)
from crawl.cli.common.output import echo, print_json, print_remarks, print_table, remark
from crawl.config import Config
from crawl.phases.dedup.rules import DEFAULT_ORDER, Nearness
from crawl.printable import CELL, printable
from crawl.spark.runners import SparkOptions

if TYPE_CHECKING:
    from crawl.facade.results import DuplicatesResult

_REPORTED = 1000
"""Groups in a file, where nobody says how many."""


@click.command("dedup")
@crawl_dir_argument
@click.option(
    "--group",
    default="none",
    metavar="GROUP",
    help="Compare all pages (none), or only those of one host or one domain (default: none).",
)
@click.option(
    "--compare-order",
    default=DEFAULT_ORDER,
    metavar="KEYS",
    help="What decides which of the same pages survives, first things first: score, fetchTime,"
    f" urlLength, httpsOverHttp, canonical, redirect (default: {DEFAULT_ORDER}).",
)
@click.option(
    "--near",
    metavar="MEASURE",
    help="Also mark pages that are nearly the same and have the same title: jaccard[=SHARE] of the"
    f" word triples of their main texts (default: {Nearness.parse('jaccard').threshold:g}), or"
    f" hamming[=BITS] of simhashes as signatures (default: {Nearness.parse('hamming').bits}).",
)
@click.option(
    "--preview",
    is_flag=True,
    help="Mark nothing: show near duplicates, the most doubtful first, and what differs between"
    " them.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1, max=10_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Show so many of them.",
)
@click.option(
    "--canonical",
    is_flag=True,
    help="Also mark pages that name another page of the crawl as canonical; that one survives.",
)
@click.option(
    "--redirects",
    is_flag=True,
    help="Also mark pages that redirect to another page of the crawl; that one survives.",
)
@click.option(
    "--groups",
    type=click.IntRange(min=0, max=100_000),
    metavar="N",
    help="Show the N largest groups of the same pages.",
)
@click.option(
    "--urls",
    type=click.IntRange(min=0, max=1_000_000),
    default=10,
    show_default=True,
    metavar="N",
    help="Name so many of the duplicates of each of these groups.",
)
@click.option(
    "--report",
    "file",
    metavar="FILE",
    help=f"Write these groups (default: {_REPORTED}) to a file, .json or .parquet.",
)
@steal_lock_option
@with_if_due
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    group: str,
    compare_order: str,
    near: str | None,
    preview: bool,
    pairs: int,
    canonical: bool,
    redirects: bool,
    groups: int | None,
    urls: int,
    file: str | None,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> None:
    """Mark pages of the CrawlDb of CRAWL_DIR that it has more than once as db_duplicate, all but
    one; a page that no other repeats any more is db_fetched again.

    Pages are the same if their signatures are (`db.signature.class`). Which one survives depends
    on the pages alone, not on who came first: run it as often as you like.

    \b
    Examples:
      crawl dedup mycrawl
      crawl dedup mycrawl --group host --compare-order httpsOverHttp,score,urlLength
      crawl dedup mycrawl --near jaccard --preview --pairs 50
      crawl dedup mycrawl --near jaccard --canonical --redirects --groups 20
      crawl dedup mycrawl --report groups.parquet --groups 100000 --urls 1000
    """
    from crawl.phases.dedup.duplicate_groups import check_file, groups_report, write_groups

    if file is not None:
        check_file(file)
    wanted = groups if groups is not None else _REPORTED if file is not None else 0
    with open_crawl(crawl_dir, config, spark, command="dedup") as web:
        done = web.dedup(
            group=group,
            compare_order=compare_order,
            near=near,
            canonical=canonical,
            redirects=redirects,
            groups=wanted,
            urls=urls,
            preview=pairs if preview else 0,
            steal_lock=steal_lock,
        )
    print_remarks(done)
    if file is not None:
        write_groups(file, done.groups, done.counters["groups"])
    if as_json:
        print_json(
            {
                "snapshot": done.snapshot,
                **groups_report(done.groups, done.counters["groups"]),
                **({"pairs": [asdict(pair) for pair in done.pairs]} if preview else {}),
                "report": done.report,
            }
        )
    else:
        if preview:
            _show_pairs(done)
        _summarize(crawl_dir, done, shown=groups or 0, preview=preview)
        if file is not None:
            _tell_file(file, done)


def _show_pairs(done: DuplicatesResult) -> None:
    """The pairs of a preview: lines with the words of the page that stays, and of the other."""
    for pair in done.pairs:
        echo(f"{pair.similarity:.1%} alike")
        echo(printable(f"  stays   {pair.url}  {pair.title}", CELL))
        echo(printable(f"  marked  {pair.duplicate}  {pair.duplicate_title}", CELL))
        for change in pair.difference.changes:
            echo(printable(f"    - {change.one}"))
            echo(printable(f"    + {change.other}"))
        if pair.difference.left_out or pair.difference.is_cut:
            more = f"{pair.difference.left_out:,}" if pair.difference.left_out else "some"
            beyond = ", and beyond what was compared" if pair.difference.is_cut else ""
            echo(f"    … {more} more{beyond}")
        if not pair.difference.changes:
            echo("    (the compared texts are the same)")


def _summarize(crawl_dir: str, done: DuplicatesResult, *, shown: int, preview: bool) -> None:
    from crawl.cli.common.counter_rows import counter_rows

    counters = done.counters
    print_table("dedup", ["what", "count"], counter_rows(counters, _FAMILIES))
    if shown:
        rows = [[group.size, group.survivor, *group.duplicates[:1]] for group in done.groups]
        columns = ["pages", "survivor", "one of the others"]
        print_table("largest groups", columns, rows, first=False)
    changed = counters["duplicates_marked"] + counters["duplicates_lifted"]
    if preview:
        remark(
            f"dedup: {counters['duplicates']:,} duplicates in {crawl_dir}/crawldb; a dedup without"
            f" --preview would change {counters['statuses_to_change']:,} records;"
            f" nothing was marked"
        )
    elif changed:
        remark(
            f"dedup: {crawl_dir}/crawldb is now snapshot {done.snapshot} with"
            f" {counters['duplicates']:,} duplicates,"
            f" {counters['duplicates_marked']:,} of them new;"
            f" no longer duplicates: {counters['duplicates_lifted']:,}"
        )
    else:
        remark(
            f"dedup: {counters['duplicates']:,} duplicates in {crawl_dir}/crawldb, as before;"
            f" snapshot {done.snapshot} stays"
        )


def _tell_file(file: str, done: DuplicatesResult) -> None:
    told, found = len(done.groups), done.counters["groups"]
    groups, urls = found - told, sum(group.left_out for group in done.groups)
    some, addresses = "group" if groups == 1 else "groups", "URL" if urls == 1 else "URLs"
    left_out = [f"{groups:,} smaller {some} (--groups)"] if groups else []
    left_out += [f"{urls:,} {addresses} of those in it (--urls)"] if urls else []
    remark(
        f"dedup: {told:,} of {found:,} groups in {file}"
        + (f"; left out: {' and '.join(left_out)}" if left_out else "")
    )


_FAMILIES = ("records", "groups", "duplicates")
