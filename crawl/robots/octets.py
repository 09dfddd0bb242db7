"""Paths and rules spelled in one way, so that they can be compared octet by octet.

RFC 9309 (2.2.2, 2.2.3): escapes of letters, digits and `-._~` are undone, everything that
a URI cannot hold is escaped, and an escaped delimiter is not the delimiter. All results are
ASCII without blanks and control characters.
"""

from __future__ import annotations

import re

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

# The reserved characters of a URI, but for three: `*` and `$` have a meaning in rules, so a
# URL's own are escaped (2.2.3), and URL parsers escape `'` in queries but not in paths.
_RESERVED = b":/?#[]@!&()+,;="

# They delimit nothing within a query (RFC 3986, 3.4), and RFC 9309 has `baz=https://foo.bar`
# and `baz=https%3A%2F%2Ffoo.bar` as the same.
_PLAIN_IN_QUERY = b":/?@"

_ODD = re.compile(rb"%[0-9A-Fa-f]{2}|[^" + re.escape(_UNRESERVED + _RESERVED + b"%*") + rb"]")


def _undoing_escapes_of(plain: bytes) -> dict[bytes, bytes]:
    table = {}
    for octet in range(256):
        escape = b"%%%02X" % octet
        table[bytes([octet])] = escape
        table[escape] = bytes([octet]) if octet in plain else escape
    return table


_IN_PATH = _undoing_escapes_of(_UNRESERVED)
_IN_QUERY = _undoing_escapes_of(_UNRESERVED + _PLAIN_IN_QUERY)


def path_octets(path_and_query: str) -> str:
    """A URL's path and query as they are compared."""
    return _spelled(path_and_query.encode("utf-8", "replace")).replace("*", "%2A")


def pattern_octets(value: bytes) -> str:
    """A rule's path as it is compared: `*` is the wildcard and a last `$` the end."""
    end = "$" if value.endswith(b"$") else ""
    return _spelled(value.removesuffix(b"$")) + end


def _spelled(text: bytes) -> str:
    if not _ODD.search(text):
        return text.decode("ascii")
    path, mark, query = text.partition(b"?")
    path = _ODD.sub(lambda match: _escaped(_IN_PATH, match[0]), path)
    query = _ODD.sub(lambda match: _escaped(_IN_QUERY, match[0]), query)
    return (path + mark + query).decode("ascii")


def _escaped(table: dict[bytes, bytes], odd: bytes) -> bytes:
    return table[odd.upper() if len(odd) > 1 else odd]
