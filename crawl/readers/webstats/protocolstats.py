"""protocolstats as an operation."""

from __future__ import annotations

from typing import Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Table, View
from crawl.operations.work import Work
from crawl.readers.webstats.names import picture_notes
from crawl.readers.webstats.options import ProtocolstatsOptions


def run(work: Work, options: ProtocolstatsOptions) -> dict[str, Any]:
    from crawl.driver.phase_run import read_crawldb
    from crawl.model.status import status_label
    from crawl.readers.webstats import run as statistics
    from crawl.readers.webstats.pictures import check_picture, draw_codes

    check_picture(options.plot)
    answers = read_crawldb(
        work,
        lambda runner, state: statistics.count_answers(runner, work.directory, state),
        options.snapshot,
    )
    codes: dict[str, int] = {}
    statuses: dict[str, dict[str, int]] = {}
    for (code, status), urls in sorted(answers.items()):
        codes[code] = codes.get(code, 0) + urls
        statuses.setdefault(code, {})[status_label(status)] = urls
    if options.plot is not None:
        title = f"{sum(codes.values()):,} URLs by the code of their last answer"
        draw_codes(options.plot, codes, title)
    return {"urls": sum(codes.values()), "codes": codes, "statuses": statuses}


def render(counted: dict[str, Any], asked: Asked) -> View:
    rows: list[list[object]] = []
    for code, urls in sorted(counted["codes"].items(), key=lambda each: (-each[1], each[0])):
        statuses = sorted(counted["statuses"][code].items(), key=lambda each: -each[1])
        text = ", ".join(f"{label.removeprefix('db_')} {count:,}" for label, count in statuses)
        rows.append([code, urls, f"{urls / counted['urls']:.1%}", text])
    return [Table("answers", ["code", "URLs", "share", "statuses"], rows), *picture_notes(asked)]


OPERATION = Operation(
    name="protocolstats",
    run=run,
    render=render,
    uses_spark=True,
    help="""
    Count the URLs of CRAWL_DIR by the HTTP code of their last answer, and those of each code by
    status; UNFETCHED are those that never gave one.
    """,
    examples=(
        "crawl protocolstats mycrawl",
        "crawl protocolstats mycrawl --json",
        "crawl protocolstats mycrawl --plot codes.svg",
    ),
    calls=('web.protocolstats()["codes"]["200"]',),
)
