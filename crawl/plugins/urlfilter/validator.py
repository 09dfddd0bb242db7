"""urlfilter validator: only URLs of a sound syntax, on hosts that the public internet can
have: two labels or more, and a top-level domain of letters."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.interfaces.urlfilter import URLFilter
from crawl.urls.columns import are_within
from crawl.urls.re2 import ColumnSearch, is_plain

_CHARACTER = r"[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}"
_LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HOST = (
    rf"(?:(?:{_LABEL}\.)+(?:[A-Za-z]{{2,63}}|[xX][nN]--[A-Za-z0-9-]{{1,59}})\.?"
    rf"|{_BYTE}(?:\.{_BYTE}){{3}}|\[[0-9A-Fa-f:.]+\])"
)
_SCHEME = re.compile(r"^(?:https?|ftp)://")
_AUTHORITY = re.compile(
    rf"{_SCHEME.pattern}(?:(?:{_CHARACTER})*@)?{_HOST}(?::[0-9]{{1,5}})?(?:[/?#]|$)"
)
_HOST_NAME = re.compile(r"^[a-z]+://(?:[^/?#]*@)?([^/?#:]*)")
_URL = re.compile(
    rf"{_AUTHORITY.pattern.removesuffix('(?:[/?#]|$)')}(?:/(?:{_CHARACTER})*)*"
    rf"(?:\?(?:{_CHARACTER}|[/?])*)?(?:#(?:{_CHARACTER}|[/?])*)?$"
)
_LONGEST_HOST_NAME = 253  # RFC 1035, without the last dot


class ValidatorURLFilter(URLFilter):
    """Says which part is not sound."""

    def __init__(self, config: Config) -> None:
        self._search = ColumnSearch.of([_URL])

    def rejection(self, url: str) -> str | None:
        if "\n" in url:
            return "a newline in it"
        if _URL.search(url) is None:
            return _unsound_part(url)
        host = _HOST_NAME.match(url)
        if host is not None and len(host[1].removesuffix(".")) > _LONGEST_HOST_NAME:
            return "a host name that is too long"
        return None

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        if self._search is None:
            return None
        sound = self._search.matches(urls)
        believed = pc.and_(
            is_plain(urls), pc.or_(pc.invert(sound), are_within(urls, _LONGEST_HOST_NAME))
        )
        verdict: pa.Array[Any] = pc.if_else(believed, sound, None)
        return verdict


def _unsound_part(url: str) -> str:
    if _SCHEME.search(url) is None:
        return "not http, https or ftp"
    if _AUTHORITY.search(url) is None:
        return "not a public host"
    return "a character or escape that is not allowed"
