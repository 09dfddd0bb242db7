"""The charset of a text: by its BOM, its header, its own word, strict UTF-8, recognition.

Names are read as browsers read them (what calls itself ISO-8859-1 is windows-1252 and so
on), and only codecs of text are ever returned: a page may not have itself unpacked or
evaluated by naming one of Python's other codecs. faust-cchardet recognises legacy charsets
best of those that were compared, at a millisecond a page.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import cchardet

from crawl.errors import ConfigError

UTF_8 = "utf-8"

_BOMS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_PRESCAN = 8192
_DETECTION_BYTES = 1 << 16
"""Bytes that recognition is given: enough to be sure, and bounded in time."""
_SURE = 0.5

_COMMENT = re.compile(rb"<!--.*?-->", re.S)
_IN_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]{1,40})", re.I)
_IN_META = re.compile(rb"<meta[\s/][^>]{0,500}?charset\s*=\s*[\"']?\s*([a-z0-9_:.\-]{1,40})", re.I)
_IN_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([a-z0-9_:.\-]{1,40})", re.I)

_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
    "utf-8-sig": UTF_8,
}
"""By Python's name, the codec that browsers use: a superset of what is named."""

_CODECS = frozenset(
    (
        *(UTF_8, "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"),
        *("cp866", "cp874", "cp932", "cp949", "gb18030", "big5hkscs", "euc_jp", "iso2022_jp"),
        *(f"cp125{number}" for number in range(9)),
        *(f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    )
)

_LABELS = {
    **dict.fromkeys(("x-sjis", "windows-31j", "ms_kanji"), "cp932"),
    **dict.fromkeys(("x-gbk", "gb_2312-80", "csgb2312", "x-euc-cn"), "gb18030"),
    **dict.fromkeys(("windows-949", "x-windows-949", "ks_c_5601-1989"), "cp949"),
    **dict.fromkeys(("x-cp1250", "x-cp1251", "x-cp1252"), ""),
    **dict.fromkeys(("big5-hkscs", "cn-big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("x-euc-jp",), "euc_jp"),
    **dict.fromkeys(("unicode-1-1-utf-8", "x-unicode20utf8", "utf8"), UTF_8),
    **dict.fromkeys(("unicode", "ucs-2", "utf-16le"), "utf-16-le"),
    **dict.fromkeys(("dos-874", "windows-874"), "cp874"),
    **dict.fromkeys(("x-mac-roman", "macintosh"), "mac-roman"),
    **dict.fromkeys(("x-mac-cyrillic", "x-mac-ukrainian"), "mac-cyrillic"),
    **dict.fromkeys(("iso-8859-8-i", "iso-8859-8-e", "logical"), "iso8859-8"),
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
}
"""Names that Python does not know, or knows otherwise."""


@lru_cache(maxsize=1024)
def codec_of(label: str) -> str | None:
    """Python's codec for a charset's name on the web; None where it is the name of none."""
    label = label.strip().strip("\"'").lower()
    if label in _LABELS:
        return _LABELS[label]
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _READ_AS.get(name, name)
    return name if name in _CODECS else None


def default_codec(label: str) -> str:
    """The codec of the configured default; ConfigError where there is none of that name."""
    codec = codec_of(label)
    if codec is None:
        raise ConfigError(f"parser.character.encoding.default: no charset is called {label!r}")
    return codec


def charset_of(body: bytes, content_type: str, default: str = "cp1252") -> str:
    """The codec to read the text with. `default` is a codec, too."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return codec
    declared = _IN_HEADER.search(content_type) if content_type else None
    if declared and (named := codec_of(declared.group(1))):
        return named
    if found := _declared_in(body[:_PRESCAN]):
        return found
    try:
        # a last character that is cut off is no fault of the charset
        codecs.utf_8_decode(body, "strict", False)
        return UTF_8
    except UnicodeDecodeError:
        return _detected(body[:_DETECTION_BYTES]) or default


def _declared_in(start: bytes) -> str | None:
    """What the text itself says in its first bytes."""
    if start[:4] == b"<\0?\0" or start[:4] == b"<\0!\0":
        return "utf-16-le"
    if start[:4] == b"\0<\0?" or start[:4] == b"\0<\0!":
        return "utf-16-be"
    if b"<!--" in start:
        start = _COMMENT.sub(b"", start)
    for pattern in (_IN_XML, _IN_META):
        said = pattern.search(start)
        if said and (codec := codec_of(said.group(1).decode("ascii"))):
            # it could not be read if that were so
            return UTF_8 if codec.startswith("utf-16") else codec
    return None


def _detected(start: bytes) -> str | None:
    try:
        found = cchardet.detect(start)
    except Exception:
        return None
    label, confidence = found.get("encoding"), found.get("confidence") or 0.0
    return codec_of(label) if label and confidence >= _SURE else None
