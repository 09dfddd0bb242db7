"""generate as an operation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawl.errors import NOTHING_MORE
from crawl.operations.operation import Asked, Due, Operation
from crawl.operations.results import PhaseResult, phase_result, report_values
from crawl.operations.shown import waiting_hosts_note
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.generate.options import GenerateOptions

if TYPE_CHECKING:
    from crawl.config import Config
    from crawl.phases.generate.steps import Bounding, Matching
    from crawl.storage.crawl_dir import CrawlDir

NOTHING_DUE = 1


def check(config: Config, options: GenerateOptions) -> None:
    from crawl.phases.generate import run as driver

    driver.check(config, options)


def run(work: Work, options: GenerateOptions) -> PhaseResult:
    from crawl.driver.prechecks import require_unlocked
    from crawl.phases.generate import run as driver
    from crawl.urls.resolve import system_resolver

    directory, config = work.directory, work.config
    directory.require_crawldb()
    driver.require_bounds(directory, config)
    directory.require_writable()
    require_unlocked(directory.crawldb.folder, config, steal_lock=options.steal_lock)
    with work.session() as session, work.runner() as runner:
        generated = driver.run(
            runner,
            directory,
            config,
            replace(options, num_fetchers=options.num_fetchers or work.task_slots()),
            work.clock,
            resolver=system_resolver,
            matching=_matching(session, directory, options.expr),
            bounding=_bounding(session, directory, config),
        )
    return phase_result(
        generated.report,
        segments=generated.segments,
        remarks=(*generated.remarks, generated.took_over),
    )


def _bounding(session: Any, directory: CrawlDir, config: Config) -> Bounding | None:
    """Evaluates what the settings say of hosts by the HostDb's columns."""
    from crawl.phases.generate.tasks.host_bounds import send_values
    from crawl.phases.generate.tasks.selection import host_expressions

    expressions = host_expressions(config)
    if not expressions:
        return None
    from crawl.spark.host_bounds import host_bounds

    return host_bounds(session, directory, expressions, send_values)


def _matching(session: Any, directory: CrawlDir, expr: str | None) -> Matching | None:
    """Finds the records for which a Spark SQL condition holds."""
    if expr is None:
        return None
    from crawl.spark.expr import check_expression, matching_rows

    check_expression(session, expr)
    return lambda snapshot, slices: matching_rows(session, directory, snapshot, expr, slices)


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters, details = result.counters, result.report["details"]
    rows: list[list[object]] = [["records", counters["records"]]]
    rows += [[name, counters[name]] for name in _REJECTIONS if counters[name]]
    rows += [[name, count] for name, count in sorted(counters.items()) if name.startswith("plugin")]
    rows.append(["selected", counters["urls_generated"]])
    candidates = Table("generate", ["what", "URLs"], rows)
    if not result.segments:
        waiting = waiting_hosts_note(counters["hosts_waiting"], details.get("next_host_ms"))
        unfinished = details.get("unfinished_segments", [])
        awaited = _awaited(counters["wait_for_update"], unfinished)
        return [candidates, Note(f"nothing is due, no segment created{waiting}{awaited}")]
    columns = ["segment", "URLs", "hosts", "parts", "predicted fetch time", "longest chain"]
    segments = [
        [
            f"{asked.address}/segments/{segment['segment']}",
            segment["urls"],
            segment["chains"],
            sum(part["urls"] > 0 for part in segment["parts"]),
            _duration(segment["predicted_makespan_s"]),
            f"{segment['longest_chain']} ({_duration(segment['longest_chain_s'])})",
        ]
        for segment in details["segments"]
    ]
    return [candidates, Table("segments", columns, segments)]


def _awaited(urls: int, unfinished: list[str]) -> str:
    """Which segments have URLs that are left to them."""
    if not urls or not unfinished:
        return ""
    more = "" if len(unfinished) == 1 else f" and {len(unfinished) - 1:,} more"
    owners = f"of segment {unfinished[0]}{more}, which `crawl updatedb` has not applied yet"
    return f"; {urls:,} URLs are {owners}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def code(result: PhaseResult, asked: Asked) -> int:
    """The exit code, by which a scheduler knows that rounds have come to their end."""
    if result.segments:
        return 0
    return NOTHING_MORE if asked.is_if_due else NOTHING_DUE


_REJECTIONS = (
    "url_filters_rejected",
    "schedule_rejected",
    "wait_for_update",
    "selected_before",
    "host_waits",
    "hosts_waiting",
    "trap.same_signature",
    "host_probed",
    "expr_rejected",
    "status_rejected",
    "score_not_a_number",
    "score_too_low",
    "interval_rejected",
    "urls_skipped_per_host_overflow",
    "hosts_affected_per_host_overflow",
    "below_top_n",
    "hosts_not_resolved",
)

OPERATION = Operation(
    name="generate",
    options=GenerateOptions,
    result=PhaseResult,
    check=check,
    run=run,
    render=render,
    values=report_values("segments"),
    code=code,
    uses_spark=True,
    due=Due.IN_ROUND,
    help="""
    Select the due URLs with the highest scores into new segments of CRAWL_DIR; none, and exit code
    1, where nothing is due.
    """,
    examples=(
        "crawl generate mycrawl --top-n 1000",
        "crawl generate mycrawl --top-n 50000 --num-fetchers 8 -D generate.max.count=100",
        "crawl generate mycrawl --expr \"status = 'db_unfetched' AND score > 0.5\"",
        "crawl generate mycrawl --max-num-segments 4 -D generate.update.crawldb=true",
    ),
    calls=("web.generate(top_n=1000).segments",),
)
