"""The documents that a page would give, and what each index writer would be given of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.drivers.single import PageVisit
from crawl.interfaces.indexingfilter import IndexablePage
from crawl.model.answer_keys import PROTOCOL_STATUS_KEY
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Outlink, Parse, ParseStatus
from crawl.model.status import Status
from crawl.parsing.check import CheckedDocument, ParseChecker
from crawl.phases.index.tasks.filter_chain import DocumentMaker
from crawl.phases.index.tasks.writers import WriterSpec, active_writers
from crawl.readers.indexchecker.values import CheckedIndexDocument
from crawl.robots.answer import Deferred
from crawl.urls.parse import host_of


class DocumentChecker:
    """Makes documents of pages; to be closed."""

    def __init__(self, config: Config) -> None:
        self._maker = DocumentMaker.from_config(config)
        self._writers: list[WriterSpec] = active_writers(config)
        self._parser = ParseChecker(config)

    def close(self) -> None:
        self._parser.close()

    def check_visit(self, visit: PageVisit) -> list[CheckedIndexDocument]:
        """The documents of a page that was asked for."""
        content = visit.content
        if content is None or content.status != int(Status.FETCH_SUCCESS):
            return [_not_fetched(visit)]
        return self.check(content)

    def check(self, content: Content) -> list[CheckedIndexDocument]:
        """The documents of a page, and of those inside it."""
        return [self._checked(content, each) for each in self._parser.check(content).documents]

    def _checked(self, content: Content, checked: CheckedDocument) -> CheckedIndexDocument:
        if "noindex" in checked.directives.split():
            return CheckedIndexDocument(checked.url, "noindex", {})
        if not checked.is_parsed:
            return CheckedIndexDocument(checked.url, "parse_failed", {})
        document = self._maker.make(_page(content, checked), Counters())
        if document is None:
            return CheckedIndexDocument(checked.url, "filtered", {})
        fields_by_writer: dict[str, Mapping[str, Any] | None] = {}
        for spec in self._writers:
            matches = spec.when is None or spec.when.matcher()(document.fields)
            fields_by_writer[spec.id] = spec.mapping.mapped(document).fields if matches else None
        return CheckedIndexDocument(checked.url, "", fields_by_writer)


def _not_fetched(visit: PageVisit) -> CheckedIndexDocument:
    """The result for a page that was not fetched."""
    pages = visit.pages
    targets = [record.url for record in visit.records if record.datum.status is Status.LINKED]
    details = [record.datum.metadata.get(PROTOCOL_STATUS_KEY, "") for record in pages[-1:]]
    details += [f"to {url}" for url in targets]
    if not pages and isinstance(visit.rules, Deferred):
        details.append(f"{visit.rules.reason} {visit.rules.detail}".strip())
    if pages:
        details += visit.reasons
    reason = pages[-1].datum.status.label if pages else ", ".join(visit.reasons)
    return CheckedIndexDocument(
        visit.url, reason or "not fetched", {}, ", ".join(filter(None, details))
    )


def _page(content: Content, checked: CheckedDocument) -> IndexablePage:
    links = (
        Outlink(link.kept_as, link.link.anchor, link.link.rel, link.link.tag)
        for link in checked.links
        if link.kept_as
    )
    parse = Parse(
        checked.url,
        ParseStatus(checked.status),
        title=checked.title,
        text=checked.text,
        main_text=checked.main_text,
        outlinks=tuple(links),
        canonical=checked.canonical,
        language=checked.language,
        directives=frozenset(checked.directives.split()),
        metadata=checked.metadata,
    )
    datum = CrawlDatum(Status.FETCH_SUCCESS, content.fetch_time, score=1.0)
    return IndexablePage(
        checked.url,
        host_of(checked.url) or "",
        parse,
        datum,
        content.fetch_time,
        mime_type=checked.mime_type,
        charset=checked.charset,
        signature=checked.signature,
        headers=content.headers,
    )
