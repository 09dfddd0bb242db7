"""What people are shown of a page that was checked: everything, one thing a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crawl.model.status import Status
from crawl.parsing.fields.rules import METADATA_PREFIX
from crawl.printable import printable

Values = dict[str, Any]


def page_lines(page: Values) -> Iterator[str]:
    """The lines about a page, as `page_values` tells of it; none about what was no URL."""
    if page["fetch"] is None and page["length"] is None:
        return
    yield printable(page["url"])
    for name, value in _facts(page):
        if value:
            yield f"  {name:<14}{printable(value)}"
    for number, document in enumerate(page["documents"]):
        if number:
            yield f"\n{printable(document['url'])}"
        for name, value in _document_facts(document):
            if value:
                yield f"  {name:<14}{printable(value)}"
        for text in (document.get("text"), document.get("mainText")):
            if text is not None:
                yield from ("", *map(printable, text.splitlines()))
    for name, count in sorted(page["counters"].items()):
        yield f"  {'counted':<14}{printable(f'{name} {count:,}')}"


def _facts(page: Values) -> Iterator[tuple[str, str]]:
    yield "filter", f"rejected by {page['filter']}" if page["filter"] else ""
    if page["fetch"] is not None:
        yield from _visit_facts(page["fetch"])
    if page["length"] is not None:
        yield "declared", page["contentType"]
        yield "length", f"{page['length']:,} bytes"
        yield "truncated", page["truncated"]
        for name, value in page["headers"].items():
            yield "header", f"{name}: {value}"
    yield "parser", ", ".join(page["parsers"])


def _visit_facts(visit: Values) -> Iterator[tuple[str, str]]:
    for record in visit["records"]:
        yield "fetch", _record_text(record)
    for reason in visit["notFetched"]:
        yield "not fetched", reason
    robots = visit["robots"]
    if robots is None:
        return
    if "detail" in robots:
        yield "robots.txt", f"cannot be had: {robots['basis']} {robots['detail']}".rstrip()
    else:
        delay = robots["crawlDelay"]
        crawl_delay = "" if delay is None else f", Crawl-delay {delay:g} s"
        yield "robots.txt", robots["basis"] + crawl_delay


def _record_text(record: Values) -> str:
    if record["status"] == Status.LINKED.label:
        return f"redirected to {record['url']}"
    outcome = f"{record['status']}, {record['protocolStatus'] or ''}"
    took = record["responseTime"]
    return f"{outcome}, {took} ms, {record['url']}" if took else f"{outcome}, {record['url']}"


def _document_facts(document: Values) -> Iterator[tuple[str, str]]:
    message = f": {document['message']}" if document["message"] else ""
    yield "parse", document["status"] + message
    for name in ("type", "charset", "title", "language", "canonical"):
        yield name, document[name]
    yield "directives", " ".join(document["directives"])
    yield "signature", document["signature"] or ""
    for key, value in document["metadata"].items():
        if not key.startswith(METADATA_PREFIX):
            yield "metadata", f"{key} = {value}"
    for field in document["fields"]:
        yield "field", _field_text(field)
    for link in document["links"]:
        yield "link" if link["keptAs"] else "dropped", _link_text(link)
    yield "text", f"{document['textLength']:,} characters"


def _field_text(field: Values) -> str:
    if not field["rule"]:
        return f"none; {field['problem'] or ''}"
    default = ", its default" if field["default"] else ""
    origin = f" (rule {field['rule']}, {field['kind']}{default})"
    problem = f"; {field['problem']}" if field["problem"] else ""
    if not field["values"]:
        return f"{field['name']}: none{origin}{problem}"
    return f"{field['name']} = {' | '.join(field['values'])}{origin}{problem}"


def _link_text(link: Values) -> str:
    anchor = f" anchor: {link['anchor']}" if link["anchor"] else ""
    if not link["keptAs"]:
        detail = f" ({link['detail']})" if link["detail"] else ""
        return f"{link['dropped'] or ''}: {link['url']}{anchor}{detail}"
    rel = f" rel: {link['rel']}" if link["rel"] else ""
    return f"{link['keptAs']}{anchor}{rel}"
