"""fetch as an operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crawl.config import Config
from crawl.operations.interrupt import INTERRUPTED, sigterm_interrupts
from crawl.operations.operation import Asked, Due, Operation
from crawl.operations.results import Interrupted, PhaseResult, phase_result
from crawl.operations.shown import counter_rows
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work
from crawl.phases.fetch.options import FetchOptions


def check(config: Config, options: FetchOptions) -> None:
    from crawl.phases.fetch import run as driver

    driver.check(driver.with_threads(config, options.threads))


def run(work: Work, options: FetchOptions) -> PhaseResult:
    from crawl.driver.prechecks import require_segments, require_unlocked
    from crawl.fetcher.task import STOP
    from crawl.phases.fetch import run as driver
    from crawl.phases.fetch.progress import fetch_look
    from crawl.spark.jvm_death import JVMDied

    directory, config, steal_lock = work.directory, work.config, options.steal_lock
    require_segments(directory, (options.segment,) if options.segment else ())
    segment = driver.choose(directory, options.segment)
    require_unlocked(segment.folder, config, steal_lock=steal_lock)
    require_unlocked(directory.fetching_folder, config, steal_lock=steal_lock)
    is_stopping: Callable[[], bool] = bool  # not yet
    try:
        with (
            sigterm_interrupts(),
            work.ending_itself().runner(quiet=True) as runner,
            work.stopping(lambda: segment.folder.write(STOP, b"")) as is_stopping,
            work.showing("fetch", fetch_look(segment)),
        ):
            named = replace(options, segment=segment.name)
            fetch_result = driver.run(runner, directory, config, named, work.clock, is_stopping)
    except JVMDied as error:
        died = error.followed_by("fetched pages are kept, run the same command to resume")
        if not is_stopping():
            raise died from error
        # by the same signal, which was sent to all processes at once
        raise Interrupted(str(died)) from error
    result = phase_result(
        fetch_result.report,
        segments=(fetch_result.segment,),
        complete=fetch_result.complete,
        remarks=(*fetch_result.remarks, fetch_result.took_over),
    )
    if is_stopping():
        raise Interrupted("interrupted", result)
    return result


def values(result: PhaseResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    return {"segment": result.segments[0], "complete": result.complete, "report": result.report}


def code(result: PhaseResult, asked: Asked) -> int:
    return 0 if result.complete else INTERRUPTED


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters, details = result.counters, result.report["details"]
    seconds = result.seconds["fetch"]
    pace = counters["records"] / seconds if seconds else 0.0
    latency = ", ".join(f"{name} {value} ms" for name, value in details["latency_ms"].items())
    parts: list[Part] = [
        Table("fetch", ["what", "count"], counter_rows(counters, _FAMILIES)),
        Note(
            f"{asked.address}/segments/{result.segments[0]}: {counters['records']:,} records,"
            f" {pace:,.1f} per second" + (f"; latency {latency}" if latency else "")
        ),
    ]
    if "tail" in details:
        url_count = counters["handed_back.tail"]
        parts.append(
            Note(f"ended as a tail of few hosts; {url_count:,} URLs are left for the next round")
        )
    if not result.complete:
        parts.append(Note("interrupted; run the same command to resume"))
    return parts


_FAMILIES = (
    *("records", "requests", "bytes", "fetch_", "answers.", "redirects_", "robots_"),
    *("handed_back.", "queues_", "no_host", "already_", "hung_"),
    # where it parses, too
    *("pages", "truncated.", "parse.", "parse_empty.", "parsed_by.", "outlinks"),
)

OPERATION = Operation(
    name="fetch",
    options=FetchOptions,
    result=PhaseResult,
    run=run,
    check=check,
    render=render,
    values=values,
    code=code,
    uses_spark=True,
    due=Due.IN_ROUND,
    help="""
    Fetch a segment of CRAWL_DIR politely: the named one, or the oldest that is not fetched yet.

    `http.agent.name` must be set. An interrupt (Ctrl-C, or the kernel's) stops the fetch
    gracefully: what is fetched is kept, and the same command resumes it. Its exit code is 130
    then; in Python KeyboardInterrupt is raised.
    """,
    examples=(
        "crawl fetch mycrawl -D http.agent.name=mybot",
        "crawl fetch mycrawl 20261115093000 --threads 50 -D fetcher.timelimit.mins=60",
        "crawl fetch mycrawl --more-rounds",
    ),
    calls=('web.fetch().counters["records"]',),
)
