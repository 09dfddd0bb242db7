"""The charset of a text: by its BOM, its header, its own word, strict UTF-8, recognition.

faust-cchardet recognises legacy charsets best of those that were compared, at a millisecond a
page. Names of charsets are those of the Encoding Standard (`crawl.html.encoding`).
"""

from __future__ import annotations

import codecs

import cchardet

from crawl.errors import ConfigError
from crawl.html.encoding import ISO_2022_JP, REPLACEMENT, UTF_8, WINDOWS_1252, charset_named, decode
from crawl.html.prescan import charset_parameter, declared_charset

__all__ = ["UTF_8", "charset_of", "default_codec"]

_BOMS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_DETECTION_BYTES = 1 << 16
"""Bytes that recognition is given: enough to be sure, and bounded in time."""
_SURE = 0.5
_ESCAPES = (b"\x1b$B", b"\x1b$@")
"""Where Japanese begins in ISO-2022-JP, which else is ASCII to the eye."""
_GOOD_TO_BAD = 2
"""Characters beyond ASCII for each fault, at the least, where a text is taken to be in a
charset. By chance, legacy texts of two words or more have fewer that are UTF-8."""


def default_codec(label: str) -> str:
    """The charset of the configured default; ConfigError where there is none of that name."""
    charset = charset_named(label)
    if charset is None or charset == REPLACEMENT:
        raise ConfigError(f"parser.character.encoding.default: no charset is called {label!r}")
    return charset


def charset_of(body: bytes, content_type: str, default: str = WINDOWS_1252) -> str:
    """The charset to read the text with, by the Encoding Standard's name."""
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return charset
    if content_type and (named := charset_parameter(content_type)):
        return named
    declared, hint = declared_charset(body)
    if declared is not None:
        return declared
    if b"\x1b" in body and body.isascii() and any(escape in body for escape in _ESCAPES):
        return ISO_2022_JP if _fits(body, decode(body, ISO_2022_JP)) else UTF_8
    try:
        codecs.utf_8_decode(body, "strict", True)
        return UTF_8
    except UnicodeDecodeError as error:
        # a last character that is cut off is no fault of the charset
        if _fits(body, codecs.utf_8_decode(body, "replace", False)[0]):
            return UTF_8
        at = error.start if error.start > _DETECTION_BYTES // 2 else 0
    return hint or _detected(body[at : at + _DETECTION_BYTES]) or default


def _fits(body: bytes, text: str) -> bool:
    """Whether the text that the bytes were decoded to has few faults for what is good in it."""
    faults = text.count("\ufffd") - body.count("\ufffd".encode())
    good = len(text) - len(text.encode("ascii", "ignore")) - faults
    return good > 0 and good >= _GOOD_TO_BAD * faults


def _detected(sample: bytes) -> str | None:
    try:
        guess = cchardet.detect(sample)
    except Exception:
        return None
    label, confidence = guess.get("encoding"), guess.get("confidence") or 0.0
    charset = charset_named(label) if label and confidence >= _SURE else None
    return None if charset == REPLACEMENT else charset
