"""urlnormalizer basic: the URL as the WHATWG standard writes it, and one spelling where
the standard leaves several: escapes, double slashes, fragments, credentials."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, boolean
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.urls.parse import URL, parse, serialize

TRIM_TRAILING_DOT = boolean(
    "urlnormalizer.basic.host.trim-trailing-dot",
    False,
    "Whether `example.com.` becomes `example.com`.",
)

SCHEMES = frozenset(("http", "https", "ftp", "file"))
"""What a crawler can fetch; `javascript:`, `mailto:`, `data:` are no pages."""

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_RESPELLED = re.compile(r"%[0-9A-Fa-f]{2}|[%\[\]^`{|}]")
_SLASHES = re.compile(r"/{2,}")
_HOST_NAME = re.compile(r"[a-z0-9._-]*|\[[0-9a-f:]+\]")
"""The standard allows more (`http://{host}/`, `http://a&b/`), but no name server does."""


def _spellings() -> dict[str, str]:
    """Everything that `_RESPELLED` finds, and what becomes of it."""
    spellings = {character: f"%{ord(character):02X}" for character in "%[]^`{|}"}
    for first, second in product("0123456789ABCDEFabcdef", repeat=2):
        byte = int(first + second, 16)
        spellings[f"%{first}{second}"] = chr(byte) if byte in _UNRESERVED else f"%{byte:02X}"
    return spellings


_SPELLINGS = _spellings()

# A text of this shape is in normal form beyond doubt. Many that are not of it are so too
# (IPv6 hosts, punycode, odd ports, names such as `..a`): those are left to `normalize`.
_LETTER = "[a-z0-9_-]"
_LABEL = (  # any but `xn--…`, which the parser must look into
    f"(?:[a-wyz0-9_-]{_LETTER}*|x(?:[a-mo-z0-9_-]{_LETTER}*|n(?:[a-z0-9_]{_LETTER}*"
    f"|-(?:[a-z0-9_]{_LETTER}*)?)?)?)"
)
_TOP_LABEL = _LABEL.replace("[a-wyz0-9_-]", "[a-wyz]", 1)  # no digit: that may be an address
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HOST = rf"(?:(?:{_LABEL}\.)*{_TOP_LABEL}|{_BYTE}(?:\.{_BYTE}){{3}})"
_PORT = "[1-9][0-9]{3}|[1-5][0-9]{4}"  # shorter ones may be the scheme's own
_ESCAPE = "%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF])"
_NO_DOT = rf"(?:[A-Za-z0-9_~!$&'()*+,;=:@-]|{_ESCAPE})"
_SEGMENT = rf"\.?{_NO_DOT}(?:\.|{_NO_DOT})*"
_QUERY = rf"(?:[A-Za-z0-9._~!$&()*+,;=:@/?-]|{_ESCAPE})*"
_NORMAL = rf"\Ahttps?://{_HOST}(?::(?:{_PORT}))?/(?:{_SEGMENT}/)*(?:{_SEGMENT})?(?:\?{_QUERY})?\z"


class BasicURLNormalizer(URLNormalizer):
    """Makes every URL canonical; whatever is not http, https, ftp or file is no URL."""

    def __init__(self, config: Config) -> None:
        self._trim_trailing_dot = config[TRIM_TRAILING_DOT]

    def normalize(self, url: str, scope: Scope) -> str | None:
        parts = parse(url)
        if parts is None or parts.scheme not in SCHEMES or not _HOST_NAME.fullmatch(parts.host):
            return None
        path = _spell(parts.path)
        if "//" in path:
            path = _SLASHES.sub("/", path)
        keeps_user = parts.scheme == "ftp"
        return serialize(
            URL(
                parts.scheme,
                parts.username if keeps_user else "",
                parts.password if keeps_user else "",
                self._host(parts.host),
                parts.port,
                path,
                None if parts.query is None else _spell(parts.query),
                None,
            )
        )

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return pc.match_substring_regex(urls, _NORMAL)

    def _host(self, host: str) -> str:
        # `a..` stays: without its dots it could turn into a malformed address
        if self._trim_trailing_dot and host.endswith(".") and not host.endswith(".."):
            return host[:-1] or host
        return host


def _spell(text: str) -> str:
    """One spelling for escapes: none where none is needed, upper-case where one is."""
    if _RESPELLED.search(text) is None:
        return text
    return _RESPELLED.sub(lambda match: _SPELLINGS[match[0]], text)
