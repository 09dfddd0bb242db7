"""sitemap as an operation."""

from __future__ import annotations

from dataclasses import replace

from crawl.operations.operation import Asked, Operation
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.shown import crawldb_note, reason_rows
from crawl.operations.view import Table, View
from crawl.operations.work import Work
from crawl.phases.sitemap.options import SitemapOptions


def run(work: Work, options: SitemapOptions) -> PhaseResult:
    from crawl.driver.prechecks import require_unlocked
    from crawl.phases.sitemap import run as driver
    from crawl.rules.inject import require_urls

    directory, config = work.directory, work.config
    require_urls(options.urls)
    listed = driver.urls_of_files(options.files, config)
    options = replace(options, urls=(*options.urls, *listed))
    driver.check(config, options)
    if not options.urls:
        directory.require_crawldb()
    directory.require_writable()
    for folder in (directory.crawldb.folder, directory.fetching_folder):
        require_unlocked(folder, config, steal_lock=options.steal_lock)
    with work.session(), work.runner() as runner:
        options = replace(options, num_fetchers=options.num_fetchers or work.task_slots())
        merged = driver.run(runner, directory, config, options, work.clock)
    return merged.phase_result


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    from crawl.phases.sitemap.rules import REASONS

    counters = result.counters
    rows: list[list[object]] = [
        ["hosts asked", counters["hosts_asked"], ""],
        ["sitemaps read", counters["sitemaps_read"], ""],
        ["URLs listed", counters["urls_listed"], ""],
        ["new URLs", counters["urls_new"], ""],
        ["known URLs", counters["urls_known"], ""],
        ["due earlier", counters["urls_due_earlier"], ""],
        ["listed again", counters["urls_repeated"], ""],
        *reason_rows(result, REASONS),
    ]
    return [
        Table("sitemap", ["what", "count", "example"], rows),
        crawldb_note(result, asked),
    ]


OPERATION = Operation(
    name="sitemap",
    run=run,
    render=render,
    values=report_values("snapshot"),
    uses_spark=True,
    help="""
    Put the URLs that sites list in their sitemaps into the CrawlDb of CRAWL_DIR. Without any
    sitemaps or sites that are named, the hosts of the CrawlDb are asked; with them, only if --hosts
    is given.

    Each host is asked for the sitemaps that its robots.txt names, or for /sitemap.xml where it
    names none: politely, and as its robots.txt allows. XML, indexes, RSS, Atom and lists of URLs
    are read, packed or not. A URL is taken from a sitemap in the same folder of its host or above,
    or from one that its host's robots.txt names (sitemap.strict.parsing).

    New URLs are due at once, with the priority as score and the changefreq as interval. Known ones
    whose lastmod is later than their last fetch are due again. What is dropped is counted; where
    nothing is left, nothing is written and the exit code is 1.
    """,
    examples=(
        "crawl sitemap mycrawl -D http.agent.name=mybot",
        "crawl sitemap mycrawl --url https://example.org/sitemap_index.xml",
        "crawl sitemap mycrawl --url https://example.org/ --hosts --max-hosts 100",
        "crawl sitemap s3://bucket/crawl --master yarn -D sitemap.max.hosts=-1",
    ),
    calls=(
        'web.sitemap().counters["urls_new"]',
        'web.sitemap(["https://example.org/sitemap.xml"])',
    ),
)
