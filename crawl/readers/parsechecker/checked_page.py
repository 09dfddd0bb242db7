"""One page as a checker sees it, and the same as plain values ready for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crawl.fetcher.drivers.single import PageVisit
from crawl.model.answer_keys import CODE_KEY, PROTOCOL_STATUS_KEY
from crawl.model.content import Content
from crawl.parsing.check import CheckedDocument, PageCheck
from crawl.robots.answer import Deferred


@dataclass(frozen=True, slots=True)
class CheckedPage:
    """One page, fetched or read from a file, and what the parse made of it."""

    url: str
    visit: PageVisit | None
    """None of a file, which is not fetched."""
    content: Content | None
    checked: PageCheck
    rejection: tuple[str, str] | None
    """The filter that rejects the URL, and why."""

    @property
    def is_parsed(self) -> bool:
        return bool(self.checked.documents) and self.checked.documents[0].is_parsed


def page_values(page: CheckedPage, *, dump_text: bool) -> dict[str, Any]:
    """Under the keys of `crawl parsechecker --json`."""
    content = page.content
    return {
        "url": page.url,
        "parsed": page.is_parsed,
        "filter": None if page.rejection is None else ": ".join(page.rejection),
        "fetch": None if page.visit is None else _visit_values(page.visit),
        "contentType": content.content_type if content else None,
        "length": len(content.body) if content else None,
        "truncated": content.truncated if content else None,
        "headers": dict(content.headers) if content else {},
        "parsers": page.checked.parsers,
        "documents": [
            _document_values(document, dump_text=dump_text) for document in page.checked.documents
        ],
        "counters": dict(page.checked.counters),
    }


def _visit_values(visit: PageVisit) -> dict[str, Any]:
    rules = visit.rules
    robots: dict[str, Any] | None = None
    if isinstance(rules, Deferred):
        robots = {"basis": rules.reason, "crawlDelay": None}
    elif rules is not None:
        robots = {"basis": rules.basis, "crawlDelay": rules.crawl_delay_s}
    return {
        "records": [
            {
                "url": record.url,
                "status": record.datum.status.label,
                "protocolStatus": record.datum.metadata.get(PROTOCOL_STATUS_KEY),
                "code": record.datum.metadata.get(CODE_KEY),
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
