"""From what was fetched and parsed to what the store keeps of a URL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from crawl.fetcher.values.record import FetchRecord
from crawl.model.answer_keys import (
    CODE_KEY,
    CONTENT_TYPE_KEY,
    ETAG_KEY,
    LAST_MODIFIED_KEY,
    PROTOCOL_STATUS_KEY,
)
from crawl.model.parse import REDIRECT_KEY
from crawl.model.status import Status
from crawl.parsing.card.picture_size import picture_size
from crawl.parsing.document import ParsedBatch
from crawl.parsing.markdown import MARKDOWN_KEY, cut_markdown
from crawl.rules.redirect import redirect_target
from crawl.service.cards import image_url_in
from crawl.service.intake.admission import Admission
from crawl.service.values import FetchedImage, Page, Timings

CARD_KEY = "card"
"""Of the parse's metadata (crawl/parsing/card)."""
_REDIRECTS = (Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What those who wait for a URL want of it."""

    markdown: bool = False
    markdown_bytes: int = 0
    """So much of it."""
    is_image: bool = False
    """Whether all of them want it as the image of a page."""


NOTHING_MORE = Wanted()


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What the service takes of a parse."""

    url: str
    status: str
    message: str
    mime_type: str
    signature: bytes
    card: bytes
    links: tuple[str, ...] = field(default=(), repr=False)
    redirect: str = ""
    """Where a meta refresh leads to, by the rules of redirects."""
    markdown: str = ""


def parsed_pages(batch: ParsedBatch) -> dict[str, ParsedPage]:
    """The pages of a batch by URL; documents inside pages go by their own."""
    return {page.url: page for page in _each(batch)}


def _each(batch: ParsedBatch) -> Iterator[ParsedPage]:
    names = ("url", "status", "message", "mime_type", "signature", "metadata", "outlinks")
    rows: list[dict[str, Any]] = batch.parse_data.select(names).to_pylist()
    for row in rows:
        metadata = dict(row["metadata"] or ())
        yield ParsedPage(
            row["url"],
            row["status"],
            row["message"],
            row["mime_type"],
            row["signature"] or b"",
            metadata.get(CARD_KEY, "").encode(),
            tuple(link["url"] for link in row["outlinks"] or ()),
            metadata.get(REDIRECT_KEY, ""),
            metadata.get(MARKDOWN_KEY, ""),
        )


def page_of_record(
    record: FetchRecord,
    parsed: ParsedPage | None,
    before: Page | None,
    segment: str,
    admission: Admission,
    wanted: Wanted = NOTHING_MORE,
    timings: Timings | None = None,
) -> Page:
    """What is known of a URL after an answer. Of a page that did not change it is what was known,
    as of now; of one that failed the content is gone, and why is said. `timings`: without them
    those of the request alone."""
    timings = request_timings(record) if timings is None else timings
    datum = record.datum
    metadata = datum.metadata
    status = Status(datum.status)
    if status is Status.FETCH_NOTMODIFIED and before is not None and before.is_page:
        return _confirmed(before, record, timings)
    redirect, refusal = "", ""
    if status in _REDIRECTS:
        target = redirect_target(record.url, record.location)
        check = admission.check_image if wanted.is_image else admission.check
        checked = None if target is None else check(target)
        redirect = "" if checked is None or checked.refusal else checked.url
        refusal = "no_target" if checked is None else checked.refusal
    elif parsed is not None and parsed.redirect:
        # where it may not be followed the page is one like any other, as to the batch crawl
        checked = admission.check(parsed.redirect)
        if not checked.refusal and checked.url != record.url:
            status, redirect = Status.FETCH_REDIR_TEMP, checked.url
    signature = "" if parsed is None else parsed.signature.hex()
    is_changed = before is None or before.signature != signature
    return Page(
        url=record.url,
        status=int(status),
        reason=refusal or (metadata.get(PROTOCOL_STATUS_KEY, "") if not _is_good(status) else ""),
        code=int(metadata.get(CODE_KEY, "0")),
        fetched_ms=datum.fetch_time,
        changed_ms=datum.fetch_time if before is None or is_changed else before.changed_ms,
        fetches=1 if before is None else before.fetches + 1,
        redirect=redirect,
        content_type=metadata.get(CONTENT_TYPE_KEY, ""),
        size=0 if record.content is None else len(record.content.body),
        truncated="" if record.content is None else record.content.truncated,
        signature=signature,
        etag=metadata.get(ETAG_KEY, ""),
        last_modified=metadata.get(LAST_MODIFIED_KEY, ""),
        card=b"" if parsed is None else parsed.card,
        markdown=_markdown(parsed, wanted) if _is_page(status) else None,
        image=_image(record, parsed, before),
        segment=segment if record.content is not None else "",
        parse="" if parsed is None or parsed.status == "success" else parsed.message,
        timings=timings,
    )


def _markdown(parsed: ParsedPage | None, wanted: Wanted) -> str | None:
    if not wanted.markdown:
        return None
    return "" if parsed is None else cut_markdown(parsed.markdown, wanted.markdown_bytes)


def _image(
    record: FetchRecord, parsed: ParsedPage | None, before: Page | None
) -> FetchedImage | None:
    """Of an image itself; of a page, what was known of its image, if it still is that."""
    if parsed is None or record.content is None:
        return None
    if parsed.mime_type.startswith("image/"):
        body = record.content.body
        width, height = picture_size(body) or (0, 0)
        return FetchedImage(
            url=record.url,
            status=int(record.datum.status),
            code=int(record.datum.metadata.get(CODE_KEY, "0")),
            type=parsed.mime_type,
            width=width,
            height=height,
            size=len(body),
            fetched_ms=record.datum.fetch_time,
        )
    if before is None or before.image is None or before.image.url != image_url_in(parsed.card):
        return None
    return before.image


def _is_page(status: Status) -> bool:
    return status is Status.FETCH_SUCCESS


def _is_good(status: Status) -> bool:
    return status is Status.FETCH_SUCCESS or status in _REDIRECTS


def _confirmed(before: Page, record: FetchRecord, timings: Timings) -> Page:
    values = {name: getattr(before, name) for name in before.__struct_fields__}
    values |= {
        "fetched_ms": record.datum.fetch_time,
        "fetches": before.fetches + 1,
        "timings": timings,
    }
    return Page(**values)


def request_timings(record: FetchRecord) -> Timings:
    """The stages of the request itself, as the protocol has measured them."""
    first_byte, total = record.first_byte_ms, record.response_ms
    before = (record.connect_ms or 0) + (first_byte or 0)
    body = None if first_byte is None or total is None else max(0, total - before)
    return Timings(dns=record.dns_ms, connect=record.connect_ms, first_byte=first_byte, body=body)
