"""One page as a checker sees it, as plain values ready for JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.drivers.single import PageVisit
from crawl.interfaces.chains import FilterChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.answer_keys import CODE_KEY, PROTOCOL_STATUS_KEY, RESPONSE_TIME_KEY
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.parsing.check import CheckedDocument, PageCheck, ParseChecker
from crawl.readers.page_file import read_page
from crawl.robots.answer import Deferred


class PageChecker:
    """Looks at pages one by one, as the parser would; to be closed."""

    def __init__(self, config: Config, *, force_as: str, dump_text: bool) -> None:
        self._scoring = ScoringChain.from_config(config)
        self._filters = FilterChain.from_config(config)
        self._dump_text = dump_text
        self._parser = ParseChecker(config, force_as=force_as)

    def close(self) -> None:
        self._parser.close()

    def check_visit(self, visit: PageVisit) -> dict[str, Any]:
        """What is known of a page that was asked for."""
        content = visit.content
        if content is not None:
            content = self._as_kept(content, visit.pages[-1].datum)
        return self._values(visit.url, visit, content)

    def check_file(
        self, path: str, url: str | None, metadata: dict[str, str], clock: Clock
    ) -> dict[str, Any]:
        """What is known of a page from a file."""
        content = read_page(path, url, clock.now_ms())
        datum = CrawlDatum(Status.FETCH_SUCCESS, content.fetch_time, score=1.0, metadata=metadata)
        return self._values(content.url, None, self._as_kept(content, datum))

    def check_nothing(self, text: str) -> dict[str, Any]:
        """What is known of a text that is no URL."""
        return self._values(text, None, None)

    def _as_kept(self, content: Content, datum: CrawlDatum) -> Content:
        """With what scoring has a fetch keep for the parse."""
        metadata = self._scoring.before_parse(content.url, datum, Counters())
        return replace(content, metadata=metadata)

    def _values(self, url: str, visit: PageVisit | None, content: Content | None) -> dict[str, Any]:
        """Under the keys of `crawl parsechecker --json`. `visit` is None of a file, which is not
        fetched."""
        checked = PageCheck(()) if content is None else self._parser.check(content)
        rejection = self._filters.rejection(url)
        return {
            "url": url,
            "parsed": bool(checked.documents) and checked.documents[0].is_parsed,
            "filter": None if rejection is None else ": ".join(rejection),
            "fetch": None if visit is None else _visit_values(visit),
            "contentType": content.content_type if content else None,
            "length": len(content.body) if content else None,
            "truncated": content.truncated if content else None,
            "headers": dict(content.headers) if content else {},
            "parsers": checked.parsers,
            "documents": [
                _document_values(document, dump_text=self._dump_text)
                for document in checked.documents
            ],
            "counters": dict(checked.counters),
        }


def _visit_values(visit: PageVisit) -> dict[str, Any]:
    rules = visit.rules
    robots: dict[str, Any] | None = None
    if isinstance(rules, Deferred):
        robots = {"basis": rules.reason, "crawlDelay": None, "detail": rules.detail}
    elif rules is not None:
        robots = {"basis": rules.basis, "crawlDelay": rules.crawl_delay_s}
    return {
        "records": [
            {
                "url": record.url,
                "status": record.datum.status.label,
                "protocolStatus": record.datum.metadata.get(PROTOCOL_STATUS_KEY),
                "code": record.datum.metadata.get(CODE_KEY),
                "responseTime": record.datum.metadata.get(RESPONSE_TIME_KEY),
            }
            for record in visit.records
        ],
        "notFetched": visit.reasons,
        "robots": robots,
    }


def _document_values(document: CheckedDocument, *, dump_text: bool) -> dict[str, Any]:
    values: dict[str, Any] = {
        "url": document.url,
        "status": document.status,
        "message": document.message,
        "type": document.mime_type,
        "charset": document.charset,
        "title": document.title,
        "language": document.language,
        "canonical": document.canonical,
        "directives": document.directives.split(),
        "signature": document.signature.hex() if document.signature else None,
        "metadata": dict(document.metadata),
        "fields": [
            {
                "name": field.name,
                "rule": field.rule,
                "kind": field.kind,
                "values": field.values,
                "default": field.is_default,
                "problem": field.problem or None,
            }
            for field in document.fields
        ],
        "links": [
            {
                "url": link.link.url,
                "anchor": link.link.anchor,
                "rel": link.link.rel,
                "tag": link.link.tag,
                "keptAs": link.kept_as or None,
                "dropped": link.reason or None,
                "detail": link.detail or None,
            }
            for link in document.links
        ],
        "textLength": len(document.text),
    }
    if dump_text:
        values |= {"text": document.text, "mainText": document.main_text}
    return values
