"""indexchecker as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from crawl.errors import ConfigError, UsageError
from crawl.masking import masked_text
from crawl.operations.events import Remark
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option
from crawl.operations.view import Line, View
from crawl.operations.work import Work
from crawl.printable import one_line, printable
from crawl.readers.indexchecker.values import CheckedIndexDocument
from crawl.readers.page_options import FileUrl, FollowRedirects, PageFile, PageUrls, check_source

NOT_INDEXED = 1
_SHOWN_CHARACTERS = 300
"""Of a value, to people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexcheckerOptions:
    """The options of indexchecker."""

    urls: PageUrls = ()
    follow_redirects: FollowRedirects = False
    file: PageFile = None
    url: FileUrl = None
    connect: Annotated[
        bool, option("Ask the index writers' servers too whether they are there; nothing is made.")
    ] = False


def run(work: Work, options: IndexcheckerOptions) -> Iterator[CheckedIndexDocument]:
    from contextlib import closing

    from crawl.readers.indexchecker.checked_documents import DocumentChecker
    from crawl.readers.page_file import read_page
    from crawl.readers.polite_requests import polite_fetcher

    check_source(work, options.urls, options.file, options.url)
    if options.urls and not any(map(str.strip, options.urls)):
        raise UsageError("the URL is empty")
    _check_writers(work, connect=options.connect)
    if options.connect and not (options.file or options.urls or work.lines is not None):
        work.remark("every index writer could begin")
        return
    with closing(DocumentChecker(work.config)) as checker:
        if options.file is not None:
            yield from checker.check(read_page(options.file, options.url, work.clock.now_ms()))
            return
        urls = filter(str.strip, work.incoming(options.urls))
        with polite_fetcher(work, follow_redirects=options.follow_redirects) as fetcher:
            for url in urls:
                yield from checker.check_visit(fetcher.visit(url))


def _check_writers(work: Work, *, connect: bool) -> None:
    """Tells of every index writer that would not begin; raises ConfigError with the last."""
    from crawl.phases.index.tasks.writers import writer_faults

    faults = [
        one_line(masked_text(line)) for line in writer_faults(work.config, connect=connect).values()
    ]
    for line in faults[:-1]:
        work.observer.on_event(Remark("crawl", line))
    if faults:
        raise ConfigError(faults[-1])


def render(document: CheckedIndexDocument, asked: Asked) -> View:
    return [Line(line) for line in _lines(document)]


def _lines(document: CheckedIndexDocument) -> Iterator[str]:
    yield printable(document.url)
    if document.reason:
        detail = f", {document.detail}" if document.detail else ""
        yield f"  not indexed: {printable(document.reason + detail)}"
    for writer, fields in document.writers.items():
        yield f"  {writer}{'' if fields is not None else ': not routed here'}"
        for name, value in (fields or {}).items():
            for text in value if isinstance(value, list) else [value]:
                shown = printable(str(text)[:_SHOWN_CHARACTERS])
                yield f"    {printable(name, _SHOWN_CHARACTERS):<16}{shown}"


def values(document: CheckedIndexDocument, asked: Asked) -> dict[str, Any]:
    return {
        "url": document.url,
        "indexed": not document.reason,
        "reason": document.reason or None,
        "detail": document.detail or None,
        "writers": dict(document.writers),
    }


OPERATION = Operation(
    name="indexchecker",
    method="",
    run=run,
    render=render,
    values=values,
    code=lambda document, asked: NOT_INDEXED if document.reason else 0,
    place=Place.NOWHERE,
    streams=True,
    help="""
    Fetch and parse pages, and show the documents that they would give: for each index writer
    the fields that it would be sent, under its names. Nothing is indexed.

    First the index writers' parameters are checked as `crawl index` does: what is wrong is said
    in one line for each writer, and nothing is fetched. --connect alone checks only the writers.

    Pages are fetched as `crawl parsechecker` does: robots.txt and every pause are kept. Exit code
    1: a page could not be fetched, or would not be indexed; 2: an index writer would not begin.
    """,
    examples=(
        "crawl indexchecker https://example.org/ -D http.agent.name=mybot",
        "crawl indexchecker --file page.html --url https://example.org/ -D index.writers=jsonl"
        " --json",
        "crawl indexchecker --connect -D index.writers=opensearch",
    ),
)
