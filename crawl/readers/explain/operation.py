"""explain as an operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.options import Natural, option
from crawl.operations.view import View
from crawl.operations.work import Work
from crawl.printable import printable

if TYPE_CHECKING:
    from crawl.storage.manifest import Snapshot

UNKNOWN = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The options of explain."""

    url: Annotated[str, option("The URL.", metavar="URL", argument=True)]
    robots: Annotated[bool, option("Ask the host's robots.txt anew, politely.")] = False
    inlinks: Annotated[Natural, option("List at most this many pages that link to it.")] = 5


def run(work: Work, options: ExplainOptions) -> dict[str, Any]:
    from crawl.readers.explain.robots_verdict import ask_verdict, known_verdict
    from crawl.readers.explain.url import explain, explanation_values
    from crawl.readers.polite_requests import polite_requests

    directory, config, now_ms = work.directory, work.config, work.clock.now_ms()

    def evaluate(hostdb: Snapshot, host: str) -> tuple[float | None, float | None]:
        with work.session() as session:
            from crawl.phases.generate.tasks.selection import host_expressions
            from crawl.spark.host_bounds import values_of_host

            return values_of_host(session, directory, host_expressions(config), hostdb, host)

    explanation = explain(
        directory, options.url, config, now_ms, most_inlinks=options.inlinks, evaluate=evaluate
    )
    url, segments = explanation.url, explanation.segments
    robots = known_verdict(directory, url, config, now_ms, segments)
    if options.robots:
        with polite_requests(work) as environment:
            robots = ask_verdict(url, config, environment)
    if not explanation.is_known:
        work.remark(f"nothing is known about {printable(url)}")
    return explanation_values(explanation, robots)


def render(values: dict[str, Any], asked: Asked) -> View:
    """What people are shown."""
    from crawl.readers.explain.view import explanation_view

    return explanation_view(values)


OPERATION = Operation(
    name="explain",
    run=run,
    render=render,
    code=lambda values, asked: 0 if values["known"] else UNKNOWN,
    uses_spark=True,
    help="""
    Show everything that CRAWL_DIR knows about a URL, and what happens to it next.

    Its record and how it came to be, what segments say about it, what normalizers and filters
    make of it, when it is due and why generate would select it or not, who links to it; what the
    HostDb knows of its host, and what bound and pause follow from it; what its host's robots.txt
    said, and when it was asked. Spark is started only where generate.max.count.expr or
    generate.fetch.delay.expr is given, to evaluate it.
    Nothing is sent unless --robots is given. Exit code 1: nothing is known about the URL.
    """,
    examples=(
        "crawl explain mycrawl https://example.org/",
        "crawl explain mycrawl https://example.org/ --robots -D http.agent.name=mybot",
        "crawl explain mycrawl https://example.org/ -D generate.min.score=0.5 --json",
    ),
    calls=('web.explain("https://example.org/")["next"]',),
)
