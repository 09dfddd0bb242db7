"""crawl parsechecker."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from crawl.cli.common.checker_options import checker_options
from crawl.cli.common.line_server import Listen, incoming_urls
from crawl.cli.common.output import remark
from crawl.cli.common.page_view import print_page
from crawl.cli.common.polite_requests import polite_requests
from crawl.cli.common.url_lines import (
    decoded_argument,
    print_json_line,
)
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError, UsageError
from crawl.fetcher.drivers.single import PageVisit, fetch_each
from crawl.fetcher.values.settings import HTTP_REDIRECT_MAX
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.parsing.check import PageCheck, ParseChecker
from crawl.printable import printable
from crawl.readers.parsechecker.checked_page import CheckedPage, page_values

NOT_PARSED = 1
_REDIRECTS = 5
_MIME_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+", re.IGNORECASE)


@click.command("parsechecker")
@click.option("--normalize", is_flag=True, help="Ask for URLs in their normal form.")
@click.option(
    "--follow-redirects",
    is_flag=True,
    help=f"Follow redirects: as many as http.redirect.max allows, or {_REDIRECTS}.",
)
@click.option("--dump-text", is_flag=True, help="Print the text too.")
@click.option("--force-as", default="", metavar="MIME", help="Take every page for this type.")
@click.option(
    "--md",
    "metadata",
    multiple=True,
    metavar="KEY=VALUE",
    help="Metadata of the URLs, as a seed line would give it (repeatable).",
)
@click.option("--file", "path", metavar="PATH", help="Parse this file; nothing is sent.")
@click.option("--url", "file_url", metavar="URL", help="With --file: where it were found.")
@checker_options
def command(
    urls: tuple[str, ...],
    normalize: bool,
    follow_redirects: bool,
    dump_text: bool,
    force_as: str,
    metadata: tuple[str, ...],
    path: str | None,
    file_url: str | None,
    from_stdin: bool,
    listen: Listen | None,
    as_json: bool,
    config: Config,
) -> int:
    """Fetch and parse pages, and show all that the crawl would make of them: type, charset,
    title, language, signature, directives, metadata, fields, and of each link whether it is kept.
    A field of parsefilter.fields.file bears the rule that gave it, or why nothing was found.

    A page is fetched as `crawl fetch` would: robots.txt is asked first and obeyed, and pauses
    are kept, also between URLs of one host (fetcher.server.delay). For hosts of your own see
    http.robot.rules.allowlist. Exit code 1: a page could not be fetched or parsed.

    With --listen each client sends a URL a line and is answered as on stdin; all of them
    together are one visitor, who keeps every pause. A host whose robots.txt cannot be had is
    left alone for http.robots.503.defer.visits.delay. Ctrl-C ends it with exit code 0.

    \b
    Examples:
      crawl parsechecker https://example.org/ -D http.agent.name=mybot
      crawl parsechecker https://example.org/a.pdf --dump-text -D http.agent.name=mybot
      crawl parsechecker --file page.html --url https://example.org/ --force-as text/html
      crawl parsechecker --stdin --json < urls.txt -D plugin.parser=html-soup
      crawl parsechecker --listen 9000 --keep-client-cnx-open --json -D http.agent.name=mybot
    """
    if force_as and not _MIME_TYPE.fullmatch(force_as):
        raise UsageError(f"--force-as {force_as!r} is no MIME type, such as text/html")
    if path is not None and (urls or from_stdin or listen is not None):
        raise UsageError("--file goes without URLs, --stdin and --listen")
    if path is None and file_url is not None:
        raise UsageError("--url goes with --file")
    given = _pairs(metadata)
    with ParseChecker(config, force_as=force_as) as checker:
        page_checker = _PageChecker(config, checker, dump_text=dump_text, as_json=as_json)
        if path is not None:
            page_checker.check_file(path, file_url, given)
            return page_checker.code
        redirects = (config[HTTP_REDIRECT_MAX] or _REDIRECTS) if follow_redirects else 0
        with (
            incoming_urls(urls, from_stdin=from_stdin, listen=listen) as lines,
            polite_requests("parsechecker", config) as means,
        ):
            urls_to_fetch: Iterator[str] = filter(str.strip, lines)
            if normalize:
                urls_to_fetch = page_checker.normalized(urls_to_fetch)
            fetch_each(
                *(urls_to_fetch, config, means, page_checker.check_visit),
                redirects=redirects,
                metadata=given,
            )
    return page_checker.code


def _pairs(metadata: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in metadata:
        key, sign, value = decoded_argument(text).partition("=")
        if not sign or not key:
            raise UsageError(f"--md {text}: expected KEY=VALUE")
        pairs[key] = value
    return pairs


class _PageChecker:
    """Looks at pages one by one and tells of each; remembers whether all went well."""

    def __init__(
        self, config: Config, checker: ParseChecker, *, dump_text: bool, as_json: bool
    ) -> None:
        self._checker = checker
        self._scoring = ScoringChain.from_config(config)
        self._filters = FilterChain.from_config(config)
        self._normalizers = NormalizerChain.from_config(config)
        self._dump_text = dump_text
        self._as_json = as_json
        self.code = 0

    def normalized(self, urls: Iterator[str]) -> Iterator[str]:
        for url in urls:
            normal = self._normalizers.normalize(url)
            if normal is None:
                remark(f"parsechecker: {printable(url)} is no URL")
                self.code = NOT_PARSED
                if self._as_json:
                    self._print(url, None, None)  # a program waits for an answer to each line
            else:
                yield normal

    def check_visit(self, visit: PageVisit) -> None:
        pages = [record for record in visit.records if record.datum.status is not Status.LINKED]
        content = pages[-1].content if pages else None
        if content is not None:
            content = self._as_kept(content, pages[-1].datum)
        self._print(visit.url, visit, content)

    def check_file(self, path: str, url: str | None, metadata: dict[str, str]) -> None:
        try:
            body = Path(path).read_bytes()
            where = Path(path).absolute().as_uri() if url is None else url
        except (OSError, ValueError) as error:
            raise StorageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
        now_ms = SystemClock().now_ms()
        status = Status.FETCH_SUCCESS
        content = Content(where, body, code=200, fetch_time=now_ms, status=int(status))
        datum = CrawlDatum(status, now_ms, score=1.0, metadata=metadata)
        self._print(where, None, self._as_kept(content, datum))

    def _as_kept(self, content: Content, datum: CrawlDatum) -> Content:
        """With what scoring has a fetch keep for the parse."""
        kept = self._scoring.before_parse(content.url, datum, Counters())
        return replace(content, metadata=kept)

    def _print(self, url: str, visit: PageVisit | None, content: Content | None) -> None:
        checked = PageCheck(()) if content is None else self._checker.check(content)
        page = CheckedPage(url, visit, content, checked, self._filters.rejection(url))
        if not page.is_parsed:
            self.code = NOT_PARSED
        if self._as_json:
            print_json_line(page_values(page, dump_text=self._dump_text))
        else:
            print_page(page, dump_text=self._dump_text)
            sys.stdout.flush()
