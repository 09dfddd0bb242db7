"""What domainstats and crawlcomplete have in common: both count URLs by name, by host, by domain …,
and show a sum and a list of the largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crawl.operations.operation import Asked
from crawl.operations.view import Note, Part, Row, Table, View
from crawl.operations.work import Work
from crawl.readers.webstats.options import CrawlcompleteOptions, DomainstatsOptions, NameKind

if TYPE_CHECKING:
    from crawl.readers.webstats.name_counts import NameSummary


def summarize(
    work: Work, options: DomainstatsOptions | CrawlcompleteOptions, title: str
) -> NameSummary:
    """Counts the URLs of each name, and draws a picture of that where one is asked for."""
    from crawl.driver.phase_run import read_crawldb
    from crawl.readers.webstats import run as statistics
    from crawl.readers.webstats.pictures import check_picture, draw_names

    check_picture(options.plot)
    kind = NameKind(options.by.value)

    summary = read_crawldb(
        work,
        lambda runner, state: statistics.count_names(
            runner, work.directory, state, kind, options.top
        ),
        options.snapshot,
    )
    if options.plot is not None:
        sums = f"{summary.fetched:,} pages of {summary.names:,} {kind}s"
        draw_names(options.plot, kind, summary, f"{title} by {kind}: {sums}")
    return summary


def name_view(
    totals: Sequence[Row], columns: Sequence[str], largest: Sequence[Row], asked: Asked
) -> View:
    """The sums, and the largest names; `columns` are those behind the name."""
    by = asked.options.by
    view: list[Part] = [Table("all", ["what", "count"], totals)]
    if largest:
        view.append(Table(f"largest {by}s", [by, *columns], largest))
    return [*view, *picture_notes(asked)]


def picture_notes(asked: Asked) -> list[Note]:
    """Where the picture is, if one was drawn."""
    return [] if asked.options.plot is None else [Note(f"picture in {asked.options.plot}")]
