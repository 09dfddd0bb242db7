"""refresh as an operation."""

from __future__ import annotations

from crawl.hints import command
from crawl.operations.operation import Asked, Operation, driver_check
from crawl.operations.results import PhaseResult, report_values
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.refresh.options import RefreshOptions
from crawl.phases.refresh.rules import RefreshOutcome


def run(work: Work, options: RefreshOptions) -> PhaseResult:
    from crawl.driver.prechecks import require_unlocked
    from crawl.phases.refresh import run as driver

    directory = work.directory
    state = directory.require_crawldb()
    if not options.dry_run:
        directory.require_writable()
        require_unlocked(directory.crawldb.folder, work.config, steal_lock=options.steal_lock)
    with work.runner(rows=state.rows) as runner:
        return driver.run(runner, directory, work.config, options, work.clock).phase_result


def render(result: PhaseResult, asked: Asked) -> View:
    """What people are shown."""
    names = ("matched", *(outcome.value for outcome in RefreshOutcome))
    rows = [[name.replace("_", " "), result.counters[name]] for name in names]
    return [Table("refresh", ["what", "URLs"], rows), Note(_outcome(result, asked))]


def _outcome(result: PhaseResult, asked: Asked) -> str:
    made_due = result.counters[RefreshOutcome.MADE_DUE.value]
    if asked.options.dry_run:
        return f"{made_due:,} URLs would be made due; nothing was changed"
    text = f"{asked.address}/crawldb is {'now' if made_due else 'still'} snapshot {result.snapshot}"
    if not made_due + result.counters[RefreshOutcome.ALREADY_DUE.value]:
        return text
    return f"{text}; `{command('run', asked.address, '--until-empty')}` fetches what is due"


OPERATION = Operation(
    name="refresh",
    check=driver_check(__package__),
    run=run,
    render=render,
    values=report_values("snapshot"),
    uses_spark=True,
    help="""
    Make URLs of CRAWL_DIR due now, so that the next round fetches them whatever their interval.

    A HOST means all its URLs, *.DOMAIN those of the domain and of all hosts below it, a URL that
    page alone. In a PATTERN * stands for any characters, and with no scheme it means every scheme.

    What is known of a page stays: a server may still answer that it did not change, and the page
    is not sent again. Hosts in backoff stay in it. URLs on a fetch list that is not finished are
    left alone, and so are pages that are gone, unless --gone is given.
    """,
    examples=(
        "crawl refresh mycrawl example.org",
        "crawl refresh mycrawl '*.example.org' 'https://example.com/blog/*'",
        "crawl refresh mycrawl '*/sitemap.xml' --dry-run",
        "crawl refresh mycrawl '*' --gone",
    ),
    calls=(
        'web.refresh("https://example.org/*").counters["made_due"]',
        'web.refresh(["*.com", "https://example.org/"], dry_run=True).counters["matched"]',
    ),
)
