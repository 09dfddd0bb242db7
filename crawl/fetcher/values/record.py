"""The record of a URL for crawl_fetch, with or without content."""

from __future__ import annotations

from collections.abc import Mapping

from crawl.fetcher.values.item import FetchItem, FollowedUrl
from crawl.fetcher.values.outcome import Outcome, reason_of
from crawl.interfaces.protocol import Failure, Response
from crawl.model.answer_keys import (
    ADDRESS_KEY,
    ANSWER_KEYS,
    CODE_KEY,
    CONTENT_TYPE_KEY,
    PARSE_STATUS_KEY,
    PROTOCOL_STATUS_KEY,
    REPRESENTATIVE_KEY,
    RESPONSE_TIME_KEY,
    VALIDATOR_KEYS,
)
from crawl.model.content import Content
from crawl.model.datum import FETCH_DELAY_KEY, CrawlDatum
from crawl.model.status import Status
from crawl.model.value import quick_value

_OF_THE_SOURCE = ANSWER_KEYS | {PARSE_STATUS_KEY, FETCH_DELAY_KEY}
_OF_EACH_ANSWER = (CODE_KEY, RESPONSE_TIME_KEY, ADDRESS_KEY, FETCH_DELAY_KEY)


@quick_value(frozen=True, slots=True)
class FetchRecord:
    """One row of crawl_fetch, and of content where there is any."""

    url: str
    host: str
    datum: CrawlDatum
    content: Content | None = None
    depth: int = 0
    """How many links were followed within this run to come here."""
    response_ms: int | None = None
    """How long the answer took; None where there was none."""
    sent: int = 0
    """Requests that were sent for it; this and what follows is for who waits for the record, and in
    no table."""
    dns_ms: int | None = None
    connect_ms: int | None = None
    first_byte_ms: int | None = None
    """As in Response."""
    location: str = ""
    """Where a redirect leads, in the server's words (see `redirect_target`); empty for none."""


def record_of(
    item: FetchItem,
    outcome: Outcome,
    now_ms: int,
    answer: Response | Failure | None = None,
    message: str = "",
    *,
    store_content: bool = True,
) -> FetchRecord:
    """The record of an item that was served, or refused by its robots.txt."""
    text = message
    if answer is not None and not text:
        text = reason_of(answer)
        if not isinstance(answer, Response) and answer.message:
            text += f": {_text(answer.message)}"
    before = item.datum
    metadata = dict(before.metadata)
    if metadata:
        for key in _OF_EACH_ANSWER:
            metadata.pop(key, None)  # an earlier round's, or for this fetch alone
    metadata[PROTOCOL_STATUS_KEY] = f"{outcome.protocol_label}({text[:_LONGEST_VALUE]})"
    if item.representative:
        metadata[REPRESENTATIVE_KEY] = item.representative
    content = response_ms = dns_ms = connect_ms = first_byte_ms = None
    location = ""
    sent = int(item.asked_again) if answer is None or not answer.sent else 1 + item.asked_again
    if isinstance(answer, Response):
        response_ms, dns_ms = answer.elapsed_ms, answer.dns_ms
        connect_ms, first_byte_ms = answer.connect_ms, answer.first_byte_ms
        metadata[CODE_KEY] = str(answer.code)
        metadata[RESPONSE_TIME_KEY] = str(response_ms)
        if answer.ip:
            metadata[ADDRESS_KEY] = answer.ip[:_LONGEST_VALUE]
        headers = _by_name(answer)
        if 300 <= answer.code < 400:
            location = headers.get("location", "")
        _describe(metadata, outcome.status, headers, is_whole=not answer.truncated)
        if store_content and outcome.store:
            content = _content(answer, headers, now_ms, outcome.status)
    datum = CrawlDatum(  # `replace` takes three times as long, and this is made for every URL
        outcome.status,
        now_ms,
        before.modified_time,
        before.fetch_interval,
        before.retries,
        before.score,
        None,
        metadata,
    )
    return FetchRecord(
        *(item.url, item.host, datum, content, item.depth, response_ms),
        *(sent, dns_ms, connect_ms, first_byte_ms, location),
    )


def _by_name(answer: Response) -> dict[str, str]:
    """The last value of each header, under its lower-case name."""
    if answer.response_headers.isascii() and answer.response_headers:
        values = {name.lower(): value for name, value in answer.headers}
    else:
        values = {_text(name.lower()): _text(value) for name, value in answer.headers}
    if len(values) < len(answer.headers):
        for name in _SAID_IN_PARTS & values.keys():
            values[name] = "\n".join(
                _text(value) for key, value in answer.headers if key.lower() == name
            )
    return values


def _text(value: str) -> str:
    """As it can be stored: a protocol's lone surrogate must not cost the whole fetch."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _describe(
    metadata: dict[str, str], status: Status, headers: Mapping[str, str], *, is_whole: bool
) -> None:
    """The page's type and version. A page that did not change has those it had, unless the
    server says otherwise, and a server in trouble says nothing about the page. A page that was
    cut has no version: with it the rest would never be sent, whatever the limit is by then."""
    if status is Status.FETCH_RETRY:
        return
    is_page = status is Status.FETCH_SUCCESS or status is Status.FETCH_NOTMODIFIED
    forgets = status is not Status.FETCH_NOTMODIFIED
    kind = headers.get("content-type")
    if kind:
        metadata[CONTENT_TYPE_KEY] = kind[:_LONGEST_VALUE]
    elif forgets:
        metadata.pop(CONTENT_TYPE_KEY, None)
    for key in VALIDATOR_KEYS:
        # not of an error's text
        version = headers.get(key.lower(), "") if is_page and is_whole else ""
        if version and len(version) <= _LONGEST_VALUE:  # a part of one would be another one
            metadata[key] = version
        elif forgets:
            metadata.pop(key, None)


_SAID_IN_PARTS = frozenset(("x-robots-tag", "link"))
"""Headers that may come several times and are one list then; of others the last one counts."""
_LONGEST_VALUE = 1000
"""A server decides on these texts, and they are kept for every URL."""


def content_of(answer: Response, now_ms: int, status: Status | None = None) -> Content:
    """An answer as it is stored; without a status it is no page, and is not parsed."""
    return _content(answer, _by_name(answer), now_ms, status)


def _content(
    answer: Response, headers: Mapping[str, str], now_ms: int, status: Status | None
) -> Content:
    return Content(
        answer.url,
        answer.body,
        headers.get("content-type", "")[:_LONGEST_VALUE],
        answer.code,
        now_ms,
        answer.ip,
        str(answer.truncated) if answer.truncated else "",
        answer.version,
        answer.cipher,
        headers,
        0 if status is None else int(status),
        request_headers=answer.request_headers,
        response_headers=answer.response_headers,
    )


def inherited(metadata: Mapping[str, str]) -> dict[str, str]:
    """What a redirect's target has from its source: all but what an answer said, or what
    became of it."""
    return {key: value for key, value in metadata.items() if key not in _OF_THE_SOURCE}


def linked_record(
    url: str, host: str, source: FetchItem | FollowedUrl, representative: str
) -> FetchRecord:
    """A redirect's target that is left for a later round, with its source's inheritance."""
    metadata = inherited(source.datum.metadata)
    if representative != url:
        metadata[REPRESENTATIVE_KEY] = representative
    datum = CrawlDatum(
        status=Status.LINKED,
        fetch_time=source.datum.fetch_time,
        fetch_interval=source.datum.fetch_interval,
        score=source.datum.score,
        metadata=metadata,
    )
    return FetchRecord(url, host, datum)
