"""crawlcomplete as an operation."""

from __future__ import annotations

from typing import Any

from crawl.model.status import DB_STATUSES
from crawl.operations.operation import Asked, Operation
from crawl.operations.view import View
from crawl.operations.work import Work
from crawl.readers.webstats.names import name_view, summarize
from crawl.readers.webstats.options import CrawlcompleteOptions

_COUNTS = (
    *("fetched", "unfetched", "redirected", "duplicates"),
    *("gone", "parse_failed", "orphans"),
)


def run(work: Work, options: CrawlcompleteOptions) -> dict[str, Any]:
    from crawl.readers.webstats.name_counts import completeness

    summary = summarize(work, options, "Completeness")
    return {
        "by": options.by.value,
        "names": summary.names,
        "complete": summary.whole_names,
        "begun": summary.begun_names,
        **completeness([summary.statuses[status.label] for status in DB_STATUSES]),
        "top": [{"name": name, **completeness(counts)} for name, counts in summary.top],
    }


def render(counted: dict[str, Any], asked: Asked) -> View:
    by = asked.options.by
    totals: list[list[object]] = [
        [f"{by}s", counted["names"]],
        [f"{by}s with pages", counted["begun"]],
        [f"{by}s none of whose URLs waits", counted["complete"]],
        *([name.upper(), counted[name]] for name in _COUNTS),
        ["NOT_FETCHED", counted["not_fetched"]],
    ]
    largest = [
        [each["name"], *(each[name] for name in _COUNTS), f"{each['share']:.1%}"]
        for each in counted["top"]
    ]
    return name_view(
        totals, [*(name.replace("_", " ") for name in _COUNTS), "done"], largest, asked
    )


OPERATION = Operation(
    name="crawlcomplete",
    run=run,
    render=render,
    uses_spark=True,
    help="""
    Tell how much of each host or domain of CRAWL_DIR is done. UNFETCHED are URLs that wait to be
    fetched; redirects, duplicates, orphans and pages that are gone or could not be parsed are done,
    and counted by themselves. NOT_FETCHED is what Nutch calls UNFETCHED: all that is neither
    db_fetched nor db_notmodified.
    """,
    examples=(
        "crawl crawlcomplete mycrawl",
        "crawl crawlcomplete mycrawl --by domain --json",
        "crawl crawlcomplete mycrawl --top 20 --plot complete.svg",
    ),
    calls=('web.crawlcomplete()["complete"]',),
)
