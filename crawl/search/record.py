"""A document of the embedded index: from the fields that indexing gives, and back for results.

The fields bear Nutch's names: url (or id), host, domain, title, anchor, content, lang, type,
tstamp (when it was fetched), lastModified or date, boost or score, digest; rest: what the page says
beside its content, in menus and footers. Any other is kept and can be searched by its name as it
stands (`author:"Jane Doe"`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from urllib.parse import unquote

import msgspec
import tantivy

from crawl.errors import UsageError
from crawl.search import schema as fields_of
from crawl.search.languages import group_of, language_code
from crawl.search.near_texts import sketch_of, stable_hash, text_number
from crawl.search.schema import TEXT_KINDS, cut_text
from crawl.search.words import plain_form, spaced
from crawl.urls.domains import registered_domain
from crawl.urls.parse import host_of

_INDEXED_CHARACTERS = 1_000_000
"""Of a page's text; what is behind them is not found."""
_LONGEST_KEY = 2_000
_MAX_EXTRA = 50
_LONGEST_EXTRA = 500
_MAX_ANCHORS = 200
_LONGEST_TITLE = 2_000
_LONGEST_ANCHORS = 20_000
_MAX = (1 << 63) - 1
_NO_WORDS = {"title": " ".join(["\0"] * 6), "anchor": " ".join(["\0"] * 4)}
"""What stands for a title or anchors that a page has not, as long as they usually are, of a sign
that is no word. tantivy takes a page without them for one with empty ones: where few pages have
anchors, by its average they would be far too long and count for nothing."""

_KNOWN = frozenset(
    (
        *("id", "url", "host", "domain", "title", "anchor", "anchors", "content", "rest"),
        *("lang", "language", "type", "tstamp", "fetched", "lastModified", "modified", "date"),
        *("boost", "score", "digest", "signature"),
    )
)


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What a result shows, stored as MessagePack."""

    url: str
    host: str
    domain: str
    title: str
    language: str
    type: str
    fetched_ms: int
    modified_ms: int
    score: float
    digest: str
    anchors: list[str]
    text: str
    """In one line and Unicode's form KC: as snippets are cut from it."""
    extra: dict[str, list[str]]


@dataclass(slots=True)
class DocumentMaker:
    """Makes tantivy's documents; remembers what hosts have in common."""

    stored_characters: int
    """Of a page's text, for snippets."""
    _domains: dict[str, tuple[str, int]] = field(default_factory=dict)

    def document(self, fields: Mapping[str, object]) -> tantivy.Document:
        """The document of a page's fields; raises UsageError where it has no URL."""
        url = url_of(fields)
        host = _text(fields.get("host")) or host_of(url) or ""
        domain, host_number = self._host(host)
        domain = _text(fields.get("domain")) or domain
        language = language_code(_text(fields.get("lang")) or _text(fields.get("language")))
        kind = _text(fields.get("type")).partition(";")[0].strip().lower()
        group = group_of(language)
        title = _text(fields.get("title"))[:_LONGEST_TITLE]
        anchors = _texts(fields.get("anchor") or fields.get("anchors"), _MAX_ANCHORS)
        content = _text(fields.get("content"))[:_INDEXED_CHARACTERS]
        rest = _text(fields.get("rest"))[:_INDEXED_CHARACTERS]
        score = max(0.0, _number(fields.get("score", fields.get("boost")), 1.0))
        fetched_ms = _moment(fields.get("tstamp") or fields.get("fetched"))
        modified_ms = _moment(
            fields.get("lastModified") or fields.get("modified") or fields.get("date")
        )
        digest = fields.get("digest") or fields.get("signature") or b""
        extra = _extra(fields)

        document = tantivy.Document()
        document.add_text(fields_of.URL, key_of(url))
        document.add_text(fields_of.HOST, host)
        document.add_text(fields_of.DOMAIN, domain)
        if language:
            document.add_text(fields_of.LANGUAGE, language)
        if kind:
            document.add_text(fields_of.TYPE, kind)
        document.add_text(fields_of.URL_WORDS, url_words(url))
        joined = "\n".join(anchors)[:_LONGEST_ANCHORS]
        for name, text in zip(TEXT_KINDS, (title, joined, content, rest), strict=True):
            words = cut_text(spaced(text), group) if text else _NO_WORDS.get(name)
            if words:
                document.add_text(name, words)
        document.add_text(fields_of.GROUP, group)
        if extra:
            document.add_json(fields_of.EXTRA, extra)
        document.add_integer(fields_of.DATED, modified_ms or fetched_ms)
        document.add_float(fields_of.SCORE, score)
        document.add_unsigned(fields_of.HOST_NUMBER, host_number)
        shown = self._shown(content)
        document.add_unsigned(fields_of.TEXT_NUMBER, text_number(shown, title, url))
        document.add_unsigned(fields_of.SKETCH, sketch_of(shown))
        record = Record(
            url,
            host,
            domain,
            title,
            language,
            kind,
            fetched_ms,
            modified_ms,
            score,
            digest.hex() if isinstance(digest, bytes) else str(digest),
            anchors[:5],
            shown,
            extra,
        )
        document.add_bytes(fields_of.RECORD, _ENCODER.encode(record))
        return document

    def _shown(self, content: str) -> str:
        """What is stored of a text: in one line and plain, so that a search need not make it so."""
        most = self.stored_characters
        return plain_form(" ".join(content[: 2 * most].split()))[:most]

    def _host(self, host: str) -> tuple[str, int]:
        entry = self._domains.get(host)
        if entry is None:
            if len(self._domains) > 100_000:
                self._domains.clear()
            entry = registered_domain(host) if host else "", stable_hash(host.encode())
            self._domains[host] = entry
        return entry


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Record)


def stored_record(document: tantivy.Document) -> Record:
    """What is stored of a document that was found."""
    return _DECODER.decode(document.get_first(fields_of.RECORD) or b"")


def url_of(fields: Mapping[str, object]) -> str:
    """The URL that names a document."""
    url = _text(fields.get("url")) or _text(fields.get("id"))
    if not url:
        raise UsageError("a document of the index has no url")
    return url


def key_of(url: str) -> str:
    """The term by which a document is replaced and deleted: its URL, or the beginning and a
    digest of one that is too long for a term."""
    if len(url) <= _LONGEST_KEY:
        return _clean(url)
    digest = blake2b(_clean(url).encode(), digest_size=16).hexdigest()
    return f"{_clean(url[:_LONGEST_KEY])}#{digest}"


def url_words(url: str) -> str:
    """A URL as words: without its scheme, with escapes read."""
    rest = _clean(url).partition("://")[2] or url
    rest = unquote(rest[:_LONGEST_KEY]) if "%" in rest else rest[:_LONGEST_KEY]
    return spaced(rest.removeprefix("www."))


def _clean(text: str) -> str:
    """The text without lone surrogates, which are not UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def _text(value: object) -> str:
    if isinstance(value, str):
        return _clean(value)
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return _text(value[0]) if value else ""
    return _clean(str(value))


def _texts(value: object, most: int) -> list[str]:
    if value is None or value == "":
        return []
    values: Iterable[object] = value if isinstance(value, list | tuple | set) else [value]
    return [text for each in list(values)[:most] if (text := _text(each)[:_LONGEST_TITLE])]


def _extra(fields: Mapping[str, object]) -> dict[str, list[str]]:
    if fields.keys() <= _KNOWN:
        return {}
    names = [name for name in fields if name not in _KNOWN][:_MAX_EXTRA]
    values = {
        _clean(name): [text[:_LONGEST_EXTRA] for text in _texts(fields[name], _MAX_EXTRA)]
        for name in names
        if not isinstance(fields[name], bytes | bytearray)
    }
    return {name: texts for name, texts in values.items() if texts}


def _number(value: object, default: float) -> float:
    if not isinstance(value, int | float | str):
        return default
    try:
        number = float(value)
    except ValueError:
        return default
    return number if math.isfinite(number) else default


def _moment(value: object) -> int:
    """Milliseconds since 1970 of a moment given as those, as a datetime or in ISO's form; 0
    where it is unknown."""
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return 0
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    if isinstance(value, int | float) and math.isfinite(value):
        return max(-_MAX, min(_MAX, int(value)))
    return 0
