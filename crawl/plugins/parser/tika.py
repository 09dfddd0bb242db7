"""parser tika: whatever else there is, read by an Apache Tika server over HTTP, where the
configuration names one.

pycurl because it alone keeps a deadline over the whole of an exchange, dripped headers and
all, and lets an answer that is too long be refused while it comes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

import pycurl

from crawl.config import Config, duration, size, text
from crawl.errors import ConfigError
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Parse, ParseStatus
from crawl.parsing.language import normalised
from crawl.parsing.text.links import links_in_text
from crawl.parsing.text.plain import facts, invalid, one_line, storable
from crawl.urls.parse import parse as parse_url

URL = text(
    "parser.tika.url",
    "",
    "A Tika server, as http://host:9998; it is sent what no other parser reads. Empty: none.",
)
TIMEOUT = duration(
    "parser.tika.timeout", 20, "Longest time for the server's answer.", unit="s", minimum=0.01
)
CONNECT_TIMEOUT = duration(
    "parser.tika.connect.timeout", 2, "Longest time to reach the server.", unit="s", minimum=0.01
)
MAX_SIZE = size("parser.tika.max.size", 32 << 20, "Longest answer read of the server.", minimum=1)

_PATH = "/rmeta/text"
_CONTENT = "X-TIKA:content"
_MAX_PARTS = 1000
_NAMES = {
    "author": ("dc:creator", "meta:author", "Author"),
    "subject": ("dc:subject", "dc:description"),
    "keywords": ("meta:keyword", "pdf:docinfo:keywords", "Keywords"),
    "created": ("dcterms:created", "meta:creation-date"),
    "modified": ("dcterms:modified", "Last-Modified"),
    "content.type": ("Content-Type",),
    "pages": ("xmpTPg:NPages", "meta:page-count"),
}
"""Our keys, and under which of Tika's their values are found."""


class TikaParser(Parser):
    """Any type, by asking; none where there is nobody to ask."""

    mime_types: ClassVar[tuple[str, ...]] = ("*/*",)

    def __init__(self, config: Config) -> None:
        self._url = config[URL].strip().rstrip("/")
        self._timeout = config[TIMEOUT]
        self._connect_timeout = config[CONNECT_TIMEOUT]
        self._max_size = config[MAX_SIZE]
        parts = parse_url(self._url) if self._url else None
        if self._url and (parts is None or parts.scheme not in ("http", "https")):
            raise ConfigError(f"{URL.name}: expected an http URL, got {self._url!r}")

    def parse(self, page: Page) -> Sequence[Parse] | None:
        if not self._url:
            return None
        if not page.body:
            return (Parse(page.url),)
        answer = bytearray()
        try:
            code = self._request(page, answer)
        except pycurl.error as error:
            return (self._failed_request(page.url, error),)
        if code == 422:
            return (invalid(page.url, "Tika cannot read it"),)
        if code != 200:
            return (Parse(page.url, ParseStatus.EXCEPTION, f"Tika answered {code}"),)
        try:
            parts = json.loads(answer.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            parts = None
        parts = parts if isinstance(parts, list) else [parts]
        documents = [part for part in parts[:_MAX_PARTS] if isinstance(part, dict)]
        if not documents:
            return (Parse(page.url, ParseStatus.EXCEPTION, "Tika's answer is not as expected"),)
        return (_parse_of(page.url, documents),)

    def _request(self, page: Page, answer: bytearray) -> int:
        def take(piece: bytes) -> int:
            if len(answer) + len(piece) > self._max_size:
                return -1  # which ends the exchange
            answer.extend(piece)
            return len(piece)

        kind = one_line(page.mime_type, 100).encode("ascii", "replace").decode("ascii")
        with closing(pycurl.Curl()) as curl:
            curl.setopt(pycurl.URL, self._url + _PATH)
            curl.setopt(pycurl.UPLOAD, 1)
            curl.setopt(pycurl.READDATA, io.BytesIO(page.body))
            curl.setopt(pycurl.INFILESIZE_LARGE, len(page.body))
            # no Expect: it costs a round trip, and small servers do not know it
            headers = [f"Content-Type: {kind}", "Accept: application/json", "Expect:"]
            curl.setopt(pycurl.HTTPHEADER, headers)
            curl.setopt(pycurl.WRITEFUNCTION, take)
            curl.setopt(pycurl.TIMEOUT_MS, max(1, int(self._timeout * 1000)))
            curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, int(self._connect_timeout * 1000)))
            curl.setopt(pycurl.NOSIGNAL, 1)
            curl.setopt(pycurl.PROXY, "")  # the server is ours: the environment has no say
            curl.perform()
            return int(curl.getinfo(pycurl.RESPONSE_CODE))

    def _failed_request(self, url: str, error: pycurl.error) -> Parse:
        code = error.args[0] if error.args else 0
        if code == pycurl.E_OPERATION_TIMEDOUT:
            message = f"Tika did not answer within {self._timeout:g} s"
            return Parse(url, ParseStatus.TIMEOUT, message)
        if code == pycurl.E_WRITE_ERROR:
            message = f"Tika's answer is longer than {self._max_size} bytes"
            return Parse(url, ParseStatus.MEMORY, message)
        reason = one_line(str(error.args[1]) if len(error.args) > 1 else str(error), 200)
        return Parse(url, ParseStatus.EXCEPTION, f"Tika cannot be asked: {reason}")


def _parse_of(url: str, documents: Sequence[Mapping[str, Any]]) -> Parse:
    """The first part is the file, the others what lies inside it."""
    whole = documents[0]
    texts = (_first(document, (_CONTENT,)).strip() for document in documents)
    read = storable("\n\n".join(filter(None, texts)))
    links = links_in_text(read)
    return Parse(
        url,
        title=one_line(_first(whole, ("dc:title", "title"))),
        text=read,
        outlinks=links.links,
        outlinks_over_limit=links.over_limit,
        language=normalised(_first(whole, ("dc:language", "language"))),
        metadata=facts((name, _first(whole, keys)) for name, keys in _NAMES.items()),
    )


def _first(document: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The first that has a value; Tika writes one as text and several as a list."""
    for key in keys:
        value = document.get(key)
        if isinstance(value, list):
            value = ", ".join(each for each in value if isinstance(each, str))
        if isinstance(value, str) and value:
            return value
    return ""
