"""Charsets as the WHATWG Encoding Standard has them: their names, and text from bytes and back.

`endec` binds encoding_rs, the code of Firefox, and `webencodings` knows the standard's labels:
the tables of Python's codecs are older, so that an EUC-JP page loses 457 characters with them.
Only charsets of text have a name here: a page may not have itself unpacked or evaluated by
naming one of Python's other codecs. Nothing else imports the two.
"""

from __future__ import annotations

from encodings.aliases import aliases
from functools import lru_cache
from urllib.parse import quote_from_bytes

import endec
import webencodings
from endec.exceptions import EncodeError

UTF_8 = "utf-8"
WINDOWS_1252 = "windows-1252"
ISO_2022_JP = "iso-2022-jp"
REPLACEMENT = "replacement"
UTF_16 = frozenset(("utf-16le", "utf-16be"))

_PYTHON_NAMES = {
    "big5hkscs": "big5",
    "cp874": "windows-874",
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "cp950": "big5",
    "iso2022_jp": ISO_2022_JP,
    "latin_1": WINDOWS_1252,
    "mac_cyrillic": "x-mac-cyrillic",
    "mac_roman": "macintosh",
    "utf_16_be": "utf-16be",
    "utf_16_le": "utf-16le",
    "utf_8_sig": UTF_8,
}
"""Python's names that the standard does not know with another punctuation either."""

_QUICK_CODECS = {
    **{f"windows-125{n}": f"cp125{n}" for n in (0, 1, 2, 3, 4, 6, 7, 8)},
    **{f"iso-8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    "ibm866": "cp866",
    "iso-8859-8-i": "iso8859-8",
    "koi8-r": "koi8-r",
    "macintosh": "mac-roman",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}
"""Python's codecs that say the same as the standard of all bytes that they know, and are up to
ten times quicker than the library."""

_IGNORED = dict.fromkeys(map(ord, "\t\n\r"))
"""Characters that are no part of a URL wherever they stand."""
_IGNORED_AROUND = "".join(map(chr, range(0x21)))
"""Characters that are no part of a URL before and behind it."""
_IN_QUERY = "!$%&()*+,-./:;=?@[\\]^_`{|}~"
"""Signs that stay as they are in a query; the URL Standard's special-query percent-encode set
has the others."""


@lru_cache(maxsize=1024)
def charset_named(label: str) -> str | None:
    """The standard's name, lower-case, of the charset that a page calls so; None where it is
    the name of none. What calls itself ISO-8859-1 is windows-1252, and so on. Names that only
    Python knows (`cp932`) are understood as well."""
    label = label.strip(" \t\n\f\r\"'").lower()
    if not label.isascii():
        return None
    name = label.replace("-", "_")
    name = aliases.get(name, name)
    encoding = webencodings.lookup(label) or webencodings.lookup(
        _PYTHON_NAMES.get(name, name.replace("_", "-"))
    )
    return None if encoding is None else str(encoding.name)


def decode(body: bytes, charset: str) -> str:
    """The text of the bytes; what is not in the charset is replaced. Names of Python's other
    codecs are taken, too: a plugin's test may make pages in any of them."""
    if charset == UTF_8:
        return body.decode(UTF_8, "replace")
    if charset in _QUICK_CODECS:
        try:
            return body.decode(_QUICK_CODECS[charset])
        except UnicodeDecodeError:
            pass
    try:
        return endec.decode(body, charset, "replace", bom="ignore")
    except LookupError:
        return body.decode(charset, "replace")


def encodes_queries(charset: str) -> bool:
    """Whether the queries of links on a page in this charset are not written in UTF-8."""
    if charset in (UTF_8, REPLACEMENT) or charset in UTF_16:
        return False
    return charset_named(charset) == charset


def encode_query(reference: str, charset: str) -> str:
    """A link with its query in the bytes of the page's charset, escaped, as browsers send it:
    `?q=日` is `?q=%93%FA` on a Shift_JIS page. The rest of the link is left as it is.

    A character that the charset lacks becomes `&#NNNN;`, escaped, as the URL Standard says.
    """
    reference = reference.strip(_IGNORED_AROUND).translate(_IGNORED)
    rest, hash_sign, fragment = reference.partition("#")
    rest, question_mark, query = rest.partition("?")
    if query.isascii():
        return reference
    try:
        data = endec.encode(query, charset)
    except EncodeError:
        data = endec.encode(query.translate(_numbers(query, charset)), charset)
    escaped = quote_from_bytes(data, safe=_IN_QUERY)
    return f"{rest}{question_mark}{escaped}{hash_sign}{fragment}"


def _numbers(query: str, charset: str) -> dict[int, str]:
    """The characters that the charset lacks, as they stand in a query."""
    encoded = {char: endec.encode(char, charset, "xmlcharrefreplace") for char in set(query)}
    return {
        ord(char): quote_from_bytes(data, safe="")
        for char, data in encoded.items()
        if data.startswith(b"&#")
    }
