"""From fetched pages to rows: type, charset, parser, directives, filters, signature, score,
links. A failure concerns its page alone; links of all pages of a batch are chosen together,
because that is done by column.

Nothing here guards against a parser that hangs or dies: the sandbox does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT
from crawl.counters import Counters
from crawl.html.tokens import names_in
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.interfaces.scoring import Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Outlink, Parse, ParseStatus
from crawl.model.status import Status
from crawl.parsing import rows, settings
from crawl.parsing.directives import with_header_directives
from crawl.parsing.document import (
    CACHING_FORBIDDEN_KEY,
    Document,
    PageFailure,
    ParsedBatch,
    content_inside,
)
from crawl.parsing.empty_parse import reason_if_empty
from crawl.parsing.link_lists import is_link_list
from crawl.parsing.main_content import main_text
from crawl.parsing.outlinks import KeptLinks, keep_links
from crawl.parsing.plan import ParsePlan
from crawl.parsing.sitemap_depth import limit_sitemap_depth
from crawl.parsing.text.charset import UTF_8, charset_of, default_codec
from crawl.parsing.text.mime import mime_type
from crawl.rules.redirect import RedirectRules
from crawl.urls.parse import host_of

_LONGEST_MESSAGE = 300
_HTML = frozenset(("text/html", "application/xhtml+xml"))
_TEXTUAL = names_in(
    "application/xhtml+xml application/xml application/json application/javascript",
    "application/x-javascript application/ecmascript application/ld+json application/feed+json",
    "application/x-sh",
)
OUT_OF_MEMORY = "the parser wanted more memory than it may have"
_FAULTS = (Exception, SystemExit)
"""What a plugin may raise: a page must not end the process, whatever its parser does."""


class Pipeline:
    """A plan with its plugins built. Called by one thread at a time."""

    def __init__(self, parsing: ParsePlan) -> None:
        config = parsing.config
        self._parsing = parsing
        self._plugins = parsing.build()
        for chain in (parsing.outlinks.normalizers, parsing.redirects, parsing.filters):
            if chain is not None:
                chain.build()  # now: a page's time is not for that
        self._scoring = parsing.scoring
        self._redirect_rules = RedirectRules.of(config)
        self._by_type: dict[str, list[tuple[str, Parser]]] = {}
        self._default_codec = default_codec(config[settings.PARSER_DEFAULT_CHARSET])
        self._magic = config[settings.MIME_TYPE_MAGIC]
        self._skip_truncated = config[settings.PARSER_SKIP_TRUNCATED]
        self._store_text = config[settings.PARSER_STORE_TEXT]
        self._main_content = config[settings.PARSER_MAIN_CONTENT]
        self._caching_policy = config[settings.PARSER_CACHING_POLICY]
        self._sitemap_depth = config[settings.PARSER_SITEMAP_MAX_DEPTH]
        self._metadata_keys = config[settings.DB_PARSEMETA_TO_CRAWLDB]
        self._agent = config[settings.HTTP_AGENT_NAME]
        self._interval = int(config[DB_FETCH_INTERVAL_DEFAULT])

    def parse(
        self,
        contents: Sequence[Content],
        on_page: Callable[[int], None] = lambda page: None,
        known_failures: Mapping[int, PageFailure] | None = None,
    ) -> ParsedBatch:
        """The pages' rows. `on_page` is called with the number of each page before it is parsed,
        and at the end with the number of pages. Pages of `known_failures` are only recorded."""
        counters = Counters()
        documents: list[Document] = []
        for number, content in enumerate(contents):
            on_page(number)
            failure = known_failures.get(number) if known_failures else None
            documents += self._page(content, failure, counters)
        on_page(len(contents))
        return self._rows(documents, counters)

    # --- one page ----------------------------------------------------------------------
    def _page(
        self, content: Content, failure: PageFailure | None, counters: Counters
    ) -> list[Document]:
        counters["pages"] += 1
        if content.status != Status.FETCH_SUCCESS:
            counters["skipped.not_success"] += 1
            return []
        if content.truncated:
            counters[f"truncated.{content.truncated}"] += 1
        if failure is not None:
            failed = Parse(content.url, failure.status, failure.message)
        elif content.truncated and self._skip_truncated:
            reason = f"the body is not whole: {content.truncated}"
            failed = Parse(content.url, ParseStatus.TRUNCATED, reason)
        else:
            try:
                return self._parsed(content, counters)
            except MemoryError:
                failed = Parse(content.url, ParseStatus.MEMORY, OUT_OF_MEMORY)
            except _FAULTS as error:
                failed = _failure(content.url, error)
        return self._failed_document(content, failed, counters)

    def _parsed(self, content: Content, counters: Counters) -> list[Document]:
        kind = mime_type(content, magic=self._magic)
        charset = ""
        if kind.startswith("text/") or kind in _TEXTUAL or kind.endswith(("+xml", "+json")):
            charset = charset_of(content.body, content.content_type, self._default_codec)
        page = Page(content, kind, charset or UTF_8)
        parses = self._run_parsers(page, counters)
        if not parses[0].status.is_success:
            return self._failed_document(content, parses[0], counters, page.mime_type, charset)
        documents: list[Document] = []
        for parse in self._documents_of(content, parses, counters):
            inside = bool(documents)
            source = content_inside(content, parse) if inside else content
            if not parse.status.is_success:
                counters["documents_dropped.failed"] += 1
                continue
            documents.append(self._finish(page, source, parse, charset, inside, counters))
        return documents

    def _run_parsers(self, page: Page, counters: Counters) -> Sequence[Parse]:
        """The parses of the first parser that succeeds, or else of the last one."""
        parsers = self._by_type.get(page.mime_type)
        if parsers is None:
            parsers = self._plugins.parsers_for(page.mime_type, self._parsing.mapping)
            self._by_type[page.mime_type] = parsers
        answer: list[Parse] = []
        for name, parser in parsers:
            try:
                parses = parser.parse(page)
                if not parses:
                    continue
                refusal = answer[0].message if answer else ""
                answer = [_validated(parse) for parse in parses]
            except MemoryError:
                raise
            except _FAULTS as error:
                counters[f"plugin_errors.parser.{name}"] += 1
                answer = [_failure(page.url, error)]
                continue
            if answer[0].status.is_success:
                counters[f"parsed_by.{name}"] += 1
                why_empty = reason_if_empty(answer[0], page, name, parser, refusal)
                if why_empty is not None:
                    counters[f"parse_empty.{why_empty.reason}"] += 1
                    answer[0] = replace(answer[0], message=_one_line(why_empty.message))
                break
        if answer:
            return answer
        return [Parse(page.url, ParseStatus.INVALID_FORMAT, f"no parser reads {page.mime_type}")]

    def _documents_of(
        self, content: Content, parses: Sequence[Parse], counters: Counters
    ) -> list[Parse]:
        """The page and the documents inside it that may be stored under URLs of their own: only
        those of the page's host, for nobody may say what is to be found on another's."""
        first = replace(parses[0], url=content.url)
        if len(parses) == 1:
            return [first]
        documents, urls, host = [first], {content.url}, host_of(content.url)
        for parse in parses[1:]:
            url = self._accepted(parse.url, counters)
            if url is None:
                counters["documents_dropped.filtered"] += 1
            elif url in urls:
                counters["documents_dropped.duplicate"] += 1
            elif host_of(url) != host:
                counters["documents_dropped.external"] += 1
            else:
                urls.add(url)
                documents.append(replace(parse, url=url))
        counters["documents_inside"] += len(documents) - 1
        return documents

    def _accepted(self, url: str, counters: Counters) -> str | None:
        """A redirect's target or a document's URL in normal form, if it may be crawled."""
        normal = self._parsing.redirects.normalize(url, counters)
        if normal is None or self._parsing.filters.rejection(normal, counters) is not None:
            return None
        return normal

    def _refresh_target(self, url: str, target: str, counters: Counters) -> str:
        """The target of a meta refresh by the rules for redirects; empty where it is dropped."""
        accepted = self._accepted(target, counters)
        if accepted is None:
            reason = "filtered"
        elif accepted == url:
            reason = "self"
        else:
            reason = self._redirect_rules.why_dropped(url, accepted)
        if reason:
            counters[f"refreshes_dropped.{reason}"] += 1
        return "" if reason or accepted is None else accepted

    def _finish(
        self,
        page: Page,
        source: Content,
        parse: Parse,
        charset: str,
        inside: bool,
        counters: Counters,
    ) -> Document:
        parse = with_header_directives(source, parse, self._agent, inside=inside)
        for name, plugin in self._plugins.parse_filters:
            try:
                parse = _validated(plugin.filter(page, parse))
            except MemoryError:
                raise
            except _FAULTS:
                counters[f"plugin_errors.parsefilter.{name}"] += 1
        if len(parse.canonical) > self._redirect_rules.max_length:
            counters["canonicals_dropped.too_long"] += 1  # a part of it would be another one
            parse = replace(parse, canonical="")
        if self._main_content and not inside and page.mime_type in _HTML:
            parse = replace(parse, main_text=main_text(page, counters))
        signature = self._signature(source, parse, counters)
        parse = self._scoring.after_parse(parse.url, source, parse, counters)
        redirect = ""
        if parse.refresh is not None and parse.refresh.url != parse.url:
            counters["refreshes"] += 1
            redirect = self._refresh_target(parse.url, parse.refresh.url, counters)
            parse = replace(parse, status=ParseStatus.REDIRECT)
        counters.update(parse.counts)
        links = parse.link_count
        parse = limit_sitemap_depth(
            source, self._obey_directives(parse, counters), self._sitemap_depth, counters
        )
        counters[f"parse.{parse.status.value}"] += 1
        counters["outlinks"] += links
        counters["outlinks_dropped.parser_limit"] += parse.outlinks_over_limit
        for reason, count in parse.outlinks_dropped.items():
            counters[f"outlinks_dropped.{reason}"] += count
        return Document(source, parse, page.mime_type, charset, signature, inside, links, redirect)

    def _obey_directives(self, parse: Parse, counters: Counters) -> Parse:
        """Obeys noindex, nofollow and noarchive."""
        if "noindex" in parse.directives:
            counters["directives.noindex"] += 1
            parse = replace(parse, title="", text="", main_text=None)
        if "nofollow" in parse.directives and parse.outlinks:
            counters["outlinks_dropped.page_nofollow"] += len(parse.outlinks)
            parse = replace(parse, outlinks=())
        if "noarchive" in parse.directives:
            counters["directives.noarchive"] += 1
            noted = {**parse.metadata, CACHING_FORBIDDEN_KEY: self._caching_policy}
            parse = replace(parse, metadata=noted)
        return parse

    def _signature(self, content: Content, parse: Parse | None, counters: Counters) -> bytes | None:
        try:
            return bytes(self._plugins.signature.calculate(content, parse))
        except MemoryError:
            raise
        except _FAULTS:
            counters[f"plugin_errors.signature.{self._parsing.signature.name}"] += 1
            return None

    def _failed_document(
        self, content: Content, parse: Parse, counters: Counters, kind: str = "", charset: str = ""
    ) -> list[Document]:
        """The document of a page that could not be parsed; its bytes still have a signature."""
        counters[f"parse.{parse.status.value}"] += 1
        parse = Parse(content.url, parse.status, _one_line(parse.message))
        try:
            signature = self._signature(content, None, counters)
        except MemoryError:
            signature = None
        return [Document(content, parse, kind, charset, signature)]

    # --- all pages of a batch ----------------------------------------------------------
    def _rows(self, documents: list[Document], counters: Counters) -> ParsedBatch:
        links: list[tuple[str, Sequence[Outlink]]] = [
            (document.parse.url, document.parse.outlinks) for document in documents
        ]
        lists = [at for at, each in enumerate(documents) if is_link_list(each.parse.metadata)]
        exempts = partial(self._exempts, counters)
        outlinks = keep_links(links, self._parsing.outlinks, counters, exempts, lists)
        counters["outlinks_kept"] += len(outlinks.owner)
        scored = self._distribute_scores(documents, outlinks, counters)
        return ParsedBatch(
            rows.parse_data(documents, outlinks),
            rows.parse_text(documents if self._store_text else []),
            rows.crawl_parse(documents, outlinks, scored, self._metadata_keys, self._interval),
            +counters,
        )

    def _exempts(self, counters: Counters, source: str, target: str) -> bool:
        for name, plugin in self._plugins.exemptions:
            try:
                if plugin.exempts(source, target):
                    return True
            except _FAULTS:
                counters[f"plugin_errors.urlexemption.{name}"] += 1
        return False

    def _distribute_scores(
        self, documents: list[Document], outlinks: KeptLinks, counters: Counters
    ) -> list[Sequence[Target]] | None:
        """Each document's links with their scores; None where no filter distributes any."""
        if not self._scoring.has_moment("distribute"):
            return None
        urls = cast("list[str]", outlinks.urls.to_pylist())
        starts = np.searchsorted(outlinks.owner, np.arange(len(documents) + 1)).tolist()
        shares: list[Sequence[Target]] = []
        for number, document in enumerate(documents):
            # records are never changed, so that all links of a page can share one
            blank = CrawlDatum(
                Status.LINKED, document.content.fetch_time, fetch_interval=self._interval
            )
            targets = [(url, blank) for url in urls[starts[number] : starts[number + 1]]]
            if targets:
                scored = self._scoring.distribute(
                    document.parse, document.content, targets, document.link_count, counters
                )
                counters["outlinks_withheld_by_scoring"] += len(targets) - len(scored)
                targets = list(scored)
            shares.append(targets)
        return shares


def _validated(parse: Parse) -> Parse:
    """The plugin's answer, if it is a valid parse; ValueError where it is not."""
    if not isinstance(parse, Parse):
        raise ValueError(f"no parse: {type(parse).__name__}")
    texts = (parse.url, parse.message, parse.title, parse.text, parse.canonical, parse.language)
    if not all(type(text) is str for text in texts):
        raise ValueError("a parse whose texts are none")
    return parse


def _failure(url: str, error: BaseException) -> Parse:
    return Parse(url, ParseStatus.EXCEPTION, _one_line(f"{type(error).__name__}: {error}"))


def _one_line(text: str) -> str:
    return " ".join(text[: 4 * _LONGEST_MESSAGE].split())[:_LONGEST_MESSAGE]
