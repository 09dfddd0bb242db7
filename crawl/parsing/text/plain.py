"""Text on its way into a parse: what a column cannot hold is replaced, what people wrote on
several lines becomes one, and nothing that a page says of itself is kept at length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from crawl.model.parse import Parse, ParseStatus

MAX_VALUE = 2000
"""Characters of a value of metadata, a title or an anchor."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL, which many readers of a column stop at, and lone surrogates, which UTF-8 has not."""


def storable(text: str) -> str:
    """The text with U+FFFD for what a column cannot hold."""
    # almost every text is whole, which is quicker to see than to search for what is not
    try:
        if "\0" not in text and (text.isascii() or text.encode("utf-8")):
            return text
    except UnicodeEncodeError:
        pass
    return _UNSTORABLE.sub("\ufffd", text)


def one_line(text: str, most: int = MAX_VALUE) -> str:
    """The text with single blanks for all white space, cut after so many characters."""
    # what is cut before it is split may at worst lose words to a flood of blanks
    return storable(" ".join(text[: most * 4].split())[:most].rstrip())


def facts(values: Mapping[str, object] | Iterable[tuple[str, object]]) -> dict[str, str]:
    """Metadata of those values that say something, each on one line."""
    pairs = values.items() if isinstance(values, Mapping) else values
    lines = ((key, one_line(str(value))) for key, value in pairs if value is not None)
    return {key: line for key, line in lines if line}


def invalid(url: str, message: str) -> Parse:
    """The parse of a page whose bytes are not what they were taken for."""
    return Parse(url, ParseStatus.INVALID_FORMAT, one_line(message, 300))
