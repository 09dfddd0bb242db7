"""What a checker tells of a page that it fetched and parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crawl.cli.common.output import echo
from crawl.fetcher.drivers.single import Visit
from crawl.fetcher.values.record import FetchRecord
from crawl.model.answer_keys import CODE_KEY, PROTOCOL_STATUS_KEY, RESPONSE_TIME_KEY
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.parsing.check import Checked, CheckedDocument, CheckedLink
from crawl.printable import printable
from crawl.robots.answer import Deferred


@dataclass(frozen=True, slots=True)
class Looked:
    """A page that was looked at."""

    url: str
    visit: Visit | None
    """None of a file, which is not fetched."""
    content: Content | None
    checked: Checked
    rejection: tuple[str, str] | None
    """The filter that rejects the URL, and why."""

    @property
    def is_parsed(self) -> bool:
        return bool(self.checked.documents) and self.checked.documents[0].is_parsed


# for people


def show(looked: Looked, *, dump_text: bool) -> None:
    """Everything, one thing a line; of the text only what is wanted."""
    echo(printable(looked.url))
    if looked.rejection is not None:
        plugin, reason = looked.rejection
        _line("filter", f"rejected by {plugin}: {reason}")
    if looked.visit is not None:
        _show_visit(looked.visit)
    if looked.content is not None:
        _line("declared", looked.content.content_type)
        _line("length", f"{len(looked.content.body):,} bytes")
        _line("truncated", looked.content.truncated)
        for name, value in looked.content.headers.items():
            _line("header", f"{name}: {value}")
    _line("parser", ", ".join(looked.checked.parsers))
    for number, document in enumerate(looked.checked.documents):
        if number:
            echo(f"\n{printable(document.url)}")
        _show_document(document, dump_text=dump_text)
    for name, count in sorted(looked.checked.counters.items()):
        _line("counted", f"{name} {count:,}")


def _show_visit(visit: Visit) -> None:
    for record in visit.records:
        _line("fetch", _fetched(record))
    for reason in visit.reasons:
        _line("not fetched", reason)
    rules = visit.rules
    if isinstance(rules, Deferred):
        _line("robots.txt", f"cannot be had: {rules.reason} {rules.detail}".rstrip())
    elif rules is not None:
        delay = rules.crawl_delay_s
        _line("robots.txt", rules.basis + ("" if delay is None else f", Crawl-delay {delay:g} s"))


def _fetched(record: FetchRecord) -> str:
    if record.datum.status is Status.LINKED:
        return f"redirected to {record.url}"
    metadata = record.datum.metadata
    told = f"{record.datum.status.label}, {metadata.get(PROTOCOL_STATUS_KEY, '')}"
    took = metadata.get(RESPONSE_TIME_KEY)
    return f"{told}, {took} ms, {record.url}" if took else f"{told}, {record.url}"


def _show_document(document: CheckedDocument, *, dump_text: bool) -> None:
    message = f": {document.message}" if document.message else ""
    _line("parse", document.status + message)
    _line("type", document.mime_type)
    _line("charset", document.charset)
    _line("title", document.title)
    _line("language", document.language)
    _line("canonical", document.canonical)
    _line("directives", document.directives)
    _line("signature", document.signature.hex() if document.signature else "")
    for key, value in document.metadata.items():
        _line("metadata", f"{key} = {value}")
    for link in document.links:
        _line("link" if link.kept_as else "dropped", _link_told(link))
    _line("text", f"{len(document.text):,} characters")
    if dump_text:
        for text in (document.text, document.main_text):
            if text is not None:
                echo()
                for line in text.splitlines():
                    echo(printable(line))


def _link_told(link: CheckedLink) -> str:
    anchor = f" anchor: {link.link.anchor}" if link.link.anchor else ""
    if not link.kept_as:
        detail = f" ({link.detail})" if link.detail else ""
        return f"{link.reason}: {link.link.url}{anchor}{detail}"
    rel = f" rel: {link.link.rel}" if link.link.rel else ""
    return f"{link.kept_as}{anchor}{rel}"


def _line(name: str, value: str) -> None:
    if value:
        echo(f"  {name:<14}{printable(value)}")


# for programs


def as_object(looked: Looked, *, dump_text: bool) -> dict[str, Any]:
    """The same as plain values."""
    content = looked.content
    return {
        "url": looked.url,
        "parsed": looked.is_parsed,
        "filter": None if looked.rejection is None else ": ".join(looked.rejection),
        "fetch": None if looked.visit is None else _visit_object(looked.visit),
        "contentType": content.content_type if content else None,
        "length": len(content.body) if content else None,
        "truncated": content.truncated if content else None,
        "headers": dict(content.headers) if content else {},
        "parsers": looked.checked.parsers,
        "documents": [
            _document_object(document, dump_text=dump_text) for document in looked.checked.documents
        ],
        "counters": dict(looked.checked.counters),
    }


def _visit_object(visit: Visit) -> dict[str, Any]:
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


def _document_object(document: CheckedDocument, *, dump_text: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
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
        told |= {"text": document.text, "mainText": document.main_text}
    return told
