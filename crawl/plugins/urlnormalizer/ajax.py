"""urlnormalizer ajax: `#!state` as the `_escaped_fragment_` parameter that a server can
answer, and back again for the index. To be put before `basic`, which drops fragments."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer

_PARAMETER = "_escaped_fragment_="
_ESCAPED = re.compile(r"[\x00-\x20#%&+\x7f-\U0010ffff]")
_IN_QUERY = re.compile(rf"[?&]{_PARAMETER}([^&]*)")
_UNTOUCHED = {True: rf"[?&]{_PARAMETER}", False: "#!"}
"""By whether the scope is the indexer's: a URL without this is left alone."""


class AjaxURLNormalizer(URLNormalizer):
    """Forward in every scope but `indexer`, backward in that."""

    def __init__(self, config: Config) -> None:
        """There is nothing to configure."""

    def normalize(self, url: str, scope: Scope) -> str | None:
        return _backward(url) if scope is Scope.INDEXER else _forward(url)

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        sought = _UNTOUCHED[scope is Scope.INDEXER]
        return pc.invert(pc.match_substring_regex(urls, sought))


def _forward(url: str) -> str:
    beginning, _, fragment = url.partition("#")
    if not fragment.startswith("!"):
        return url
    sign = "&" if "?" in beginning else "?"
    return beginning + sign + _PARAMETER + _ESCAPED.sub(_escape, fragment[1:])


def _escape(match: re.Match[str]) -> str:
    # a lone surrogate has no bytes; as a question mark it at least stays a URL
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def _backward(url: str) -> str:
    beginning, hash_sign, _ = url.partition("#")
    match = _IN_QUERY.search(beginning)
    if hash_sign or match is None:
        return url
    rest = beginning[match.end() :]
    if rest and beginning[match.start()] == "?":
        rest = "?" + rest[1:]
    return beginning[: match.start()] + rest + "#!" + unquote(match[1])
