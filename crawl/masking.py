"""Keeps secrets out of what is stored, logged and shown: passwords, tokens, cookies.

What is sent keeps its value; a copy of it that somebody may read gets `***` instead. What is a
secret is told by the name of the header or property, or by the look of the value; and whoever
sends one to a server knows it by its value, and has all that the server says pass a `SecretMask`
(net/secret_mask.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

MARK = "***"

_HEADER_NAMES = re.compile(
    rb"auth(?!or(?!i[sz]))|cookie|key|token|secret|passw|passphrase|credential|session|signature",
    re.IGNORECASE,
)
_SETTING_NAMES = re.compile(
    r"passw|passphrase|secret|credential|(?:access|api|private)[._-]?key|key[._-]?pem|token$",
    re.IGNORECASE,
)
_VALUES = re.compile(
    rb"\s*(?:(?:basic|bearer|digest|negotiate|ntlm|token|apikey|hawk|aws4-\S+)\s+\S"
    rb"|eyJ[\w-]{8,}\.[\w-]+\.)",  # a JSON web token
    re.IGNORECASE,
)
_USER_OF_A_URL = re.compile(r"(?<=://)[^\s/?#\"'\\<>]*@")
_USER_OF_A_HOST = re.compile(r"^[^\s/@:]+:[^\s/@]+@(?=[^\s/@]+$)")
_ASSIGNED = re.compile(
    r"((?:passw|passphrase|secret|credential|(?:access|api|private)[._-]?key|token)[\w.-]*=)"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s&,;]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(
    r"\b((?:basic|bearer|digest|negotiate|ntlm|token|apikey|hawk|aws4-[\w-]{1,30})\s{1,8})"
    # of a word that people write, as in `Basic authentication`, nothing is hidden
    r"(?![A-Za-z][a-z]*(?![\w+/=.~-]))[\w+/=.~-]{8,}",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"eyJ[\w-]{8,}\.[\w-]+\.[\w-]*")


def masked_head(head: bytes) -> bytes:
    """A request's head, or lines of headers, as it may be kept: with `***` for each secret."""
    lines = head.split(b"\n")
    for place, line in enumerate(lines):
        name, colon, value = line.partition(b":")
        # a name has no blank, and the line of the request has one before any colon
        if colon and b" " not in name and (_is_secret_name(name) or _VALUES.match(value)):
            lines[place] = name + b": " + MARK.encode() + (b"\r" if line[-1:] == b"\r" else b"")
    return b"\n".join(lines)


@lru_cache(1000)
def _is_secret_name(name: bytes) -> bool:
    return _HEADER_NAMES.search(name) is not None


def masked_urls(text: str) -> str:
    """A text without the users and passwords of URLs in it."""
    return _USER_OF_A_URL.sub(f"{MARK}@", text) if "@" in text else text


def masked_text(text: str) -> str:
    """A text of whatever origin without what looks like a secret: users and passwords of URLs,
    values of an Authorization header, JSON web tokens."""
    return _TOKEN.sub(MARK, _SCHEME.sub(rf"\1{MARK}", masked_urls(text)))


def secrets_of_head(head: bytes) -> Iterator[str]:
    """The values of headers that are secrets."""
    for line in head.split(b"\n"):
        name, colon, value = line.partition(b":")
        if colon and b" " not in name and (_is_secret_name(name) or _VALUES.match(value)):
            yield value.strip().decode("latin-1")


def secrets_of_settings(settings: Mapping[str, object]) -> Iterator[str]:
    """The values that `masked_setting` hides, also those that are assigned within a value."""
    for name, value in settings.items():
        if _SETTING_NAMES.search(name):
            yield str(value)
            continue
        for match in _ASSIGNED.finditer(str(value)):
            yield match[0][len(match[1]) :].strip("\"'")


def masked_setting(name: str, value: object) -> object:
    """The value of a setting as it may be shown; itself where there is nothing to hide."""
    if not value or isinstance(value, bool):
        return value
    if _SETTING_NAMES.search(name):
        return MARK
    if isinstance(value, tuple | list):
        return type(value)(masked_setting(name, each) for each in value)
    if not isinstance(value, str):
        return value
    if "header" in name.lower():
        return masked_head(value.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    hidden = _ASSIGNED.sub(rf"\1{MARK}", masked_urls(value))
    return _USER_OF_A_HOST.sub(f"{MARK}@", hidden)
