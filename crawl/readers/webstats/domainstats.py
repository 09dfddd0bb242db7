"""domainstats as an operation."""

from __future__ import annotations

from typing import Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.view import View
from crawl.operations.work import Work
from crawl.readers.webstats.names import name_view, summarize
from crawl.readers.webstats.options import DomainstatsOptions


def run(work: Work, options: DomainstatsOptions) -> dict[str, Any]:
    from crawl.readers.webstats.name_counts import fetched_of

    summary = summarize(work, options, "Pages")
    return {
        "by": options.by.value,
        "names": summary.names,
        "names_fetched": summary.begun_names,
        "fetched": summary.fetched,
        "not_fetched": summary.statuses.total() - summary.fetched,
        "top": [
            {"name": name, "fetched": fetched_of(counts), "urls": sum(counts)}
            for name, counts in summary.top
        ],
    }


def render(counted: dict[str, Any], asked: Asked) -> View:
    by = asked.options.by
    totals: list[list[object]] = [
        [f"{by}s", counted["names"]],
        [f"{by}s with pages", counted["names_fetched"]],
        ["FETCHED", counted["fetched"]],
        ["NOT_FETCHED", counted["not_fetched"]],
    ]
    largest = [list(each.values()) for each in counted["top"]]
    return name_view(totals, ["fetched", "URLs"], largest, asked)


OPERATION = Operation(
    name="domainstats",
    run=run,
    render=render,
    uses_spark=True,
    help="""
    Count the fetched pages of CRAWL_DIR by host, registered domain, public suffix or TLD: of all
    together, and of the largest.
    """,
    examples=(
        "crawl domainstats mycrawl",
        "crawl domainstats mycrawl --by tld --json",
        "crawl domainstats mycrawl --by domain --top 100 --plot domains.svg",
    ),
    calls=('web.domainstats("domain", top=10)["top"]',),
)
