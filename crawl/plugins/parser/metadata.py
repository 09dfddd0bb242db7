"""parser metadata: the last resort, for types that no parser reads: nothing but what is
known from outside, so that an image or a film is a document all the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar
from urllib.parse import unquote

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.parse import Parse
from crawl.parsing.text.plain import facts, one_line
from crawl.urls.parse import parse as parse_url

_MAX_HEADER = 1000
_FILE_NAME = re.compile(
    r";[ \t]*filename[ \t]*=[ \t]*(?:\"((?:[^\"\\]|\\.)*+)\"|([^;\"\s]++))", re.IGNORECASE
)
_EXTENDED = re.compile(
    r";[ \t]*filename\*[ \t]*=[ \t]*(utf-8|iso-8859-1)'[^']*'([^;\"\s]++)", re.IGNORECASE
)


class MetadataParser(Parser):
    """Type, length and name of anything."""

    mime_types: ClassVar[tuple[str, ...]] = ("*/*",)

    def __init__(self, config: Config) -> None:
        """There is nothing to set."""

    def parse(self, page: Page) -> Sequence[Parse]:
        values = {
            "content.type": page.mime_type,
            "content.length": len(page.body),
            "content.name": _name(page),
            "last.modified": page.content.headers.get("last-modified"),
        }
        return (Parse(page.url, metadata=facts(values)),)


def _name(page: Page) -> str:
    """What the server calls the file (RFC 6266), or the last part of its path."""
    header = page.content.headers.get("content-disposition", "")[:_MAX_HEADER]
    extended = _EXTENDED.search(header)
    if extended:
        return _base_name(unquote(extended[2], encoding=extended[1], errors="replace"))
    plain = _FILE_NAME.search(header)
    if plain:
        return _base_name(re.sub(r"\\(.)", r"\1", plain[1] or plain[2] or ""))
    url = parse_url(page.url)
    return _base_name(unquote(url.path, errors="replace")) if url else ""


def _base_name(path: str) -> str:
    return one_line(re.split(r"[/\\]", path)[-1], 200)
