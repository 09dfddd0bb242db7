"""parsechecker as an operation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from crawl.config import Config
from crawl.errors import UsageError
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option
from crawl.operations.view import Line, View
from crawl.operations.work import Work
from crawl.printable import printable
from crawl.readers.page_options import FileUrl, FollowRedirects, PageFile, PageUrls, check_source

NOT_PARSED = 1
_MIME_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsecheckerOptions:
    """The options of parsechecker."""

    urls: PageUrls = ()
    normalize: Annotated[bool, option("Ask for URLs in their normal form.")] = False
    follow_redirects: FollowRedirects = False
    dump_text: Annotated[bool, option("Print the text too.")] = False
    force_as: Annotated[str, option("Take every page for this type.", metavar="MIME")] = ""
    metadata: Annotated[
        tuple[str, ...],
        option(
            "Metadata of the URLs, as a seed line would give it (repeatable).",
            "--md",
            metavar="KEY=VALUE",
        ),
    ] = ()
    file: PageFile = None
    url: FileUrl = None


def check(config: Config, options: ParsecheckerOptions) -> None:
    """Raises UsageError for options that cannot be meant."""
    if options.force_as and not _MIME_TYPE.fullmatch(options.force_as):
        raise UsageError(f"--force-as {options.force_as!r} is no MIME type, such as text/html")
    _pairs(options.metadata)


def _pairs(metadata: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for text in metadata:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise UsageError(f"--md {text}: expected KEY=VALUE")
        pairs[key] = value
    return pairs


def run(work: Work, options: ParsecheckerOptions) -> Iterator[dict[str, Any]]:
    from contextlib import closing

    from crawl.interfaces.chains import NormalizerChain
    from crawl.readers.parsechecker.checked_page import PageChecker
    from crawl.readers.polite_requests import polite_fetcher

    check_source(work, options.urls, options.file, options.url)
    metadata = _pairs(options.metadata)
    checker = PageChecker(work.config, force_as=options.force_as, dump_text=options.dump_text)
    with closing(checker):
        if options.file is not None:
            yield checker.check_file(options.file, options.url, metadata, work.clock)
            return
        urls = work.incoming(options.urls)
        normalizers = NormalizerChain.from_config(work.config)
        with polite_fetcher(work, follow_redirects=options.follow_redirects) as fetcher:
            for url in filter(str.strip, urls):
                normal = normalizers.normalize(url) if options.normalize else url
                if normal is None:
                    work.remark(f"{printable(url)} is no URL")
                    yield checker.check_nothing(url)
                else:
                    yield checker.check_visit(fetcher.visit(normal, metadata))


def render(page: dict[str, Any], asked: Asked) -> View:
    from crawl.readers.parsechecker.page_view import page_lines

    return [Line(line) for line in page_lines(page)]


OPERATION = Operation(
    name="parsechecker",
    method="",
    check=check,
    run=run,
    render=render,
    code=lambda page, asked: 0 if page["parsed"] else NOT_PARSED,
    place=Place.NOWHERE,
    streams=True,
    help="""
    Fetch and parse pages, and show all that the crawl would make of them: type, charset,
    title, language, signature, directives, metadata, fields, and of each link whether it is kept.
    A field of parsefilter.fields.file bears the rule that gave it, or why nothing was found.

    A page is fetched as `crawl fetch` would: robots.txt is asked first and obeyed, and pauses
    are kept, also between URLs of one host (fetcher.server.delay). For hosts of your own see
    http.robot.rules.allowlist. Exit code 1: a page could not be fetched or parsed.

    With --listen each client sends a URL a line and is answered as on stdin; all of them
    together are one visitor, who keeps every pause. A host whose robots.txt cannot be had is
    left alone for http.robots.503.defer.visits.delay. Ctrl-C ends it with exit code 0.
    """,
    examples=(
        "crawl parsechecker https://example.org/ -D http.agent.name=mybot",
        "crawl parsechecker https://example.org/a.pdf --dump-text -D http.agent.name=mybot",
        "crawl parsechecker --file page.html --url https://example.org/ --force-as text/html",
        "crawl parsechecker --stdin --json < urls.txt -D plugin.parser=html-soup",
        "crawl parsechecker --listen 9000 --keep-client-cnx-open --json -D http.agent.name=mybot",
    ),
)
