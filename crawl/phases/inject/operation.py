"""inject as an operation."""

from __future__ import annotations

from dataclasses import replace

from crawl.operations.operation import Asked, Operation
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.shown import crawldb_note, reason_rows
from crawl.operations.view import Table, View
from crawl.operations.work import Work
from crawl.phases.inject.options import InjectOptions


def run(work: Work, options: InjectOptions) -> PhaseResult:
    from crawl.driver.prechecks import require_unlocked
    from crawl.phases.inject import run as driver
    from crawl.rules.inject import require_urls
    from crawl.storage.seeds import plan_seeds, seed_files

    directory = work.directory
    require_urls(options.urls)
    driver.check(work.config, options)
    plan_seeds(list(options.files))
    directory.require_writable()
    require_unlocked(directory.crawldb.folder, work.config, steal_lock=options.steal_lock)
    with (
        seed_files(directory.folder, options.urls, options.files) as files,
        work.runner() as runner,
    ):
        in_files = replace(options, urls=(), files=files)
        injected = driver.run(runner, directory, work.config, in_files, work.clock)
    return injected.phase_result


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    counters = result.counters
    rows: list[list[object]] = [
        ["seed lines", counters["seed_lines"], ""],
        ["new URLs", counters["urls_new"], ""],
        ["known URLs", counters["urls_merged"], ""],
        *reason_rows(result, _REASONS),
    ]
    return [
        Table("inject", ["what", "URLs", "example"], rows),
        crawldb_note(result, asked),
    ]


_REASONS = (
    "malformed.",
    "metadata_ignored",
    "plugin_errors.",
    "seed_folders_skipped",
    "urls_filtered",
    "urls_moved",
    "urls_purged",
    "urls_repeated_in_seeds",
)

OPERATION = Operation(
    name="inject",
    run=run,
    render=render,
    values=report_values("snapshot"),
    uses_spark=True,
    help="""
    Put seed URLs into the CrawlDb of CRAWL_DIR, making it if need be.

    Seeds are read from text files (plain or gzip) or folders of them: a URL a line, optionally
    followed by TAB-separated key=value pairs. `nutch.score`, `nutch.fetchInterval` and
    `nutch.fetchInterval.fixed` are understood, other keys become metadata; lines that start with #
    are comments. A line that is no URL is counted, never fatal; where no line at all can be used,
    nothing is written and the exit code is 1 (unless --filter-normalize-all gives it other work).
    """,
    examples=(
        "crawl inject mycrawl seeds.txt",
        "crawl inject mycrawl seeds/ more.txt.gz --update",
        "crawl inject s3://bucket/crawl seeds.txt --master yarn -D crawldb.buckets=256",
    ),
    calls=(
        'web.inject(["https://example.org/", "https://example.com/\\tnutch.score=2"])',
        'web.inject(files="seeds.txt")',
    ),
)
