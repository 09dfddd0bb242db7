"""Prints what a checker found out about a page."""

from __future__ import annotations

from crawl.cli.common.output import echo
from crawl.fetcher.drivers.single import PageVisit
from crawl.fetcher.values.record import FetchRecord
from crawl.model.answer_keys import PROTOCOL_STATUS_KEY, RESPONSE_TIME_KEY
from crawl.model.status import Status
from crawl.parsing.check import CheckedDocument, CheckedLink
from crawl.parsing.fields.rules import METADATA_PREFIX
from crawl.parsing.fields.stored import ExplainedField
from crawl.printable import printable
from crawl.readers.parsechecker.checked_page import CheckedPage
from crawl.robots.answer import Deferred


def print_page(page: CheckedPage, *, dump_text: bool) -> None:
    """Everything, one thing a line; of the text only what is wanted."""
    echo(printable(page.url))
    if page.rejection is not None:
        plugin, reason = page.rejection
        _line("filter", f"rejected by {plugin}: {reason}")
    if page.visit is not None:
        _show_visit(page.visit)
    if page.content is not None:
        _line("declared", page.content.content_type)
        _line("length", f"{len(page.content.body):,} bytes")
        _line("truncated", page.content.truncated)
        for name, value in page.content.headers.items():
            _line("header", f"{name}: {value}")
    _line("parser", ", ".join(page.checked.parsers))
    for number, document in enumerate(page.checked.documents):
        if number:
            echo(f"\n{printable(document.url)}")
        _show_document(document, dump_text=dump_text)
    for name, count in sorted(page.checked.counters.items()):
        _line("counted", f"{name} {count:,}")


def _show_visit(visit: PageVisit) -> None:
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
    outcome = f"{record.datum.status.label}, {metadata.get(PROTOCOL_STATUS_KEY, '')}"
    took = metadata.get(RESPONSE_TIME_KEY)
    return f"{outcome}, {took} ms, {record.url}" if took else f"{outcome}, {record.url}"


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
        if not key.startswith(METADATA_PREFIX):
            _line("metadata", f"{key} = {value}")
    for field in document.fields:
        _line("field", _field_text(field))
    for link in document.links:
        _line("link" if link.kept_as else "dropped", _link_text(link))
    _line("text", f"{len(document.text):,} characters")
    if dump_text:
        for text in (document.text, document.main_text):
            if text is not None:
                echo()
                for line in text.splitlines():
                    echo(printable(line))


def _field_text(field: ExplainedField) -> str:
    if not field.rule:
        return f"none; {field.problem}"
    by = f" (rule {field.rule}, {field.kind}{', its default' if field.is_default else ''})"
    problem = f"; {field.problem}" if field.problem else ""
    if not field.values:
        return f"{field.name}: none{by}{problem}"
    return f"{field.name} = {' | '.join(field.values)}{by}{problem}"


def _link_text(link: CheckedLink) -> str:
    anchor = f" anchor: {link.link.anchor}" if link.link.anchor else ""
    if not link.kept_as:
        detail = f" ({link.detail})" if link.detail else ""
        return f"{link.reason}: {link.link.url}{anchor}{detail}"
    rel = f" rel: {link.link.rel}" if link.link.rel else ""
    return f"{link.kept_as}{anchor}{rel}"


def _line(name: str, value: str) -> None:
    if value:
        echo(f"  {name:<14}{printable(value)}")
