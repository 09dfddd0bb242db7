"""crawl indexchecker."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from crawl.cli.common.checker_options import checker_options
from crawl.cli.common.line_server import Listen, incoming_urls
from crawl.cli.common.output import echo, remark
from crawl.cli.common.polite_requests import polite_requests
from crawl.cli.common.url_lines import print_json_line
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import StorageError, UsageError
from crawl.fetcher.drivers.single import PageVisit, fetch_each
from crawl.fetcher.values.settings import HTTP_REDIRECT_MAX
from crawl.masking import masked_text
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.phases.index.tasks.writers import writer_faults
from crawl.printable import one_line, printable
from crawl.readers.indexchecker.checked_documents import (
    CheckedIndexDocument,
    DocumentChecker,
    not_fetched,
)

NOT_INDEXED = 1
WRONG_WRITER = 2
REDIRECTS = 5
"""That are followed where the configuration leaves them to a later round."""
_LONGEST = 300
"""Characters of a value that are shown to people."""


@click.command("indexchecker")
@click.option(
    "--follow-redirects",
    is_flag=True,
    help=f"Follow redirects: as many as http.redirect.max allows, or {REDIRECTS}.",
)
@click.option("--file", "path", metavar="PATH", help="Take this file; nothing is sent.")
@click.option("--url", "file_url", metavar="URL", help="With --file: where it were found.")
@click.option(
    "--connect",
    is_flag=True,
    help="Ask the index writers' servers too whether they are there; nothing is made.",
)
@checker_options
def command(
    urls: tuple[str, ...],
    follow_redirects: bool,
    path: str | None,
    file_url: str | None,
    connect: bool,
    from_stdin: bool,
    listen: Listen | None,
    as_json: bool,
    config: Config,
) -> int:
    """Fetch and parse pages, and show the documents that they would give: for each index writer
    the fields that it would be sent, under its names. Nothing is indexed.

    First the index writers' parameters are checked as `crawl index` does: what is wrong is said
    in one line for each writer, and nothing is fetched. --connect alone checks only the writers.

    Pages are fetched as `crawl parsechecker` does: robots.txt and every pause are kept. Exit code
    1: a page could not be fetched, or would not be indexed; 2: an index writer would not begin.

    \b
    Examples:
      crawl indexchecker https://example.org/ -D http.agent.name=mybot
      crawl indexchecker --file page.html --url https://example.org/ -D index.writers=jsonl --json
      crawl indexchecker --connect -D index.writers=opensearch
    """
    if path is not None and (urls or from_stdin or listen is not None):
        raise UsageError("--file goes without URLs, --stdin and --listen")
    if path is None and file_url is not None:
        raise UsageError("--url goes with --file")
    if urls and not any(map(str.strip, urls)):
        raise UsageError("the URL is empty")
    faults = writer_faults(config, connect=connect)
    for line in faults.values():
        remark(f"crawl: {one_line(masked_text(line))}")
    if faults:
        return WRONG_WRITER
    if connect and path is None and not (urls or from_stdin or listen is not None):
        remark("indexchecker: every index writer could begin")
        return 0
    with closing(DocumentChecker(config)) as checker:
        shown = _Shown(checker, as_json=as_json)
        if path is not None:
            shown.show(_of_file(path, file_url))
            return shown.code
        with (
            incoming_urls(urls, from_stdin=from_stdin, listen=listen) as lines,
            polite_requests("indexchecker", config) as means,
        ):
            redirects = (config[HTTP_REDIRECT_MAX] or REDIRECTS) if follow_redirects else 0
            fetch_each(filter(str.strip, lines), config, means, shown.visit, redirects=redirects)
    return shown.code


def _of_file(path: str, url: str | None) -> Content:
    try:
        body = Path(path).read_bytes()
        where = Path(path).absolute().as_uri() if url is None else url
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    now_ms = SystemClock().now_ms()
    return Content(where, body, code=200, fetch_time=now_ms, status=int(Status.FETCH_SUCCESS))


class _Shown:
    def __init__(self, checker: DocumentChecker, *, as_json: bool) -> None:
        self._checker = checker
        self._as_json = as_json
        self.code = 0

    def visit(self, visit: PageVisit) -> None:
        pages = [record for record in visit.records if record.datum.status is not Status.LINKED]
        content = pages[-1].content if pages else None
        if content is None or content.status != int(Status.FETCH_SUCCESS):
            self._tell(not_fetched(visit))
            return
        self.show(content)

    def show(self, content: Content) -> None:
        for document in self._checker.check(content):
            self._tell(document)

    def _tell(self, document: CheckedIndexDocument) -> None:
        if document.reason:
            self.code = NOT_INDEXED
        if self._as_json:
            print_json_line(
                {
                    "url": document.url,
                    "indexed": not document.reason,
                    "reason": document.reason or None,
                    "detail": document.detail or None,
                    "writers": dict(document.writers),
                }
            )
            return
        echo(printable(document.url))
        if document.reason:
            detail = f", {document.detail}" if document.detail else ""
            echo(f"  not indexed: {printable(document.reason + detail)}")
        for writer, fields in document.writers.items():
            echo(f"  {writer}{'' if fields is not None else ': not routed here'}")
            for name, value in (fields or {}).items():
                texts = value if isinstance(value, list) else [value]
                for text in texts:
                    echo(f"    {printable(name, _LONGEST):<16}{printable(str(text)[:_LONGEST])}")
