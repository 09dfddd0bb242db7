"""parse as an operation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crawl.config import Config
from crawl.operations.operation import Asked, Due, Operation
from crawl.operations.results import PhaseResult
from crawl.operations.shown import counter_rows
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.parse.options import ParseOptions


def check(config: Config, options: ParseOptions) -> None:
    from crawl.phases.parse import run as driver

    driver.check(config)


def run(work: Work, options: ParseOptions) -> PhaseResult:
    from crawl.driver.prechecks import require_segments, require_unlocked
    from crawl.phases.parse import run as driver
    from crawl.phases.parse.progress import parse_look
    from crawl.storage.segments import CONTENT

    directory = work.directory
    require_segments(directory, (options.segment,) if options.segment else ())
    segment = driver.choose(directory, options.segment, reparse=options.reparse)
    directory.require_writable()
    require_unlocked(segment.folder, work.config, steal_lock=options.steal_lock)
    pages = segment.require(CONTENT).rows
    with (
        work.runner(rows=pages, quiet=True) as runner,
        work.showing("parse", parse_look(segment, work.clock)),
    ):
        named = replace(options, segment=segment.name)
        result = driver.run(runner, directory, work.config, named, work.clock)
    return PhaseResult.of(
        result.report, segments=(result.segment,), remarks=(*result.remarks, result.took_over)
    )


def values(result: PhaseResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    return {"segment": result.segments[0], "report": result.report}


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters, seconds = result.counters, result.seconds["parse"]
    pace = counters["pages"] / seconds if seconds else 0.0
    return [
        Table("parse", ["what", "count"], counter_rows(counters, _FAMILIES)),
        Note(
            f"{asked.address}/segments/{result.segments[0]}: {counters['pages']:,} pages,"
            f" {pace:,.1f} per second; {counters['outlinks_kept']:,} of"
            f" {counters['outlinks']:,} links kept"
        ),
    ]


_FAMILIES = (
    *("pages", "skipped.", "truncated.", "parse.", "parse_empty.", "parsed_by."),
    *("parser_restarts", "documents_", "directives.", "fields.", "refreshes", "outlinks"),
)

OPERATION = Operation(
    name="parse",
    run=run,
    check=check,
    render=render,
    values=values,
    uses_spark=True,
    due=Due.IN_ROUND,
    help="""
    Parse a fetched segment of CRAWL_DIR: the named one, or the oldest that is not parsed yet.

    Text, data and links of its pages become parse_data, parse_text and crawl_parse. A page whose
    parser hangs, dies or eats memory is recorded as failed, and the others go on.
    """,
    examples=(
        "crawl parse mycrawl",
        "crawl parse mycrawl 20261115093000 -D parser.timeout=10s",
        "crawl parse mycrawl 20261115093000 --reparse -D plugin.parser=html-soup,text,metadata",
    ),
    calls=('web.parse().counters["outlinks_kept"]',),
)
