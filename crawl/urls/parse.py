"""Parsing and resolution by the WHATWG standard, the reading of every browser.

The library is `url-py` (Servo's URL parser): whoever reads `/\\evil.com` or
`http://2130706433/` otherwise than a browser has a hole in each filter above, and it gives
all parts of a URL in 1.1 µs where `ada-url` needs 10.7. Nothing else imports it. What it refuses
and browsers keep, hosts with undecodable `xn--` labels, is asked about a second time
(`undecodable.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import url as _library

from crawl.html.encoding import UTF_8, encode_query, encodes_queries
from crawl.urls.undecodable import HiddenLabels, hide_labels, hide_labels_of_link

_NOT_A_URL = (_library.URLError, UnicodeError)
"""UnicodeError: a lone surrogate cannot be sent to any server."""

_parse = _library.URL.parse
_SLASHES = re.compile(r"\A[\0-\x20]*+[/\\][\t\n\r/\\]++")
"""What comes before the host of a reference that has no scheme: slashes, as many as there are."""


class URL(NamedTuple):
    """The parts of an absolute URL, as the standard spells them.

    A tuple rather than a dataclass because it is made for every URL a normalizer sees.
    """

    scheme: str
    """Lower-case, without the colon."""
    username: str
    password: str
    host: str
    """Lower-case and in ASCII, IPv6 in brackets; empty where there is none."""
    port: int | None
    """None for the scheme's own port."""
    path: str
    query: str | None
    """Without the `?`; None where there is no `?` at all."""
    fragment: str | None

    def __str__(self) -> str:
        return serialize(self)


def parse(text: str) -> URL | None:
    """The parts of an absolute URL, or None where the text is not one."""
    try:
        library_url = _parse(text)
    except _NOT_A_URL:
        return _parse_undecodable(text)
    return _parts(library_url)


def _parts(library_url: _library.URL) -> URL:
    return URL._make(
        (
            library_url.scheme,
            library_url.username,
            library_url.password or "",
            library_url.host_str or "",
            library_url.port,
            library_url.path,
            library_url.query,
            library_url.fragment,
        )
    )


def _parse_undecodable(text: str) -> URL | None:
    """What the library refuses for an `xn--` label that stands for no text."""
    hidden = hide_labels(text)
    if hidden is None:
        return None
    try:
        return _shown(_parse(hidden.text), hidden)
    except _NOT_A_URL:
        return None


def _shown(library_url: _library.URL, hidden: HiddenLabels) -> URL:
    parts = _parts(library_url)
    return parts._replace(host=hidden.shown(parts.host))


def canonical(text: str) -> str | None:
    """The URL as the standard writes it, or None where the text is not an absolute URL."""
    try:
        return str(_parse(text))
    except _NOT_A_URL:
        parts = _parse_undecodable(text)
        return None if parts is None else serialize(parts)


def resolve(base: str, reference: str) -> str | None:
    """Where a link on the page `base` leads, or None where it leads nowhere."""
    return resolver(base)(reference)


def resolver(base: str, charset: str = UTF_8) -> Callable[[str], str | None]:
    """`resolve` for the many links of one page, which are written in its charset: half the
    time for each."""
    try:
        join = _parse(base).join
    except _NOT_A_URL:
        if hide_labels(base) is None:
            return lambda reference: None
        return _in_charset(partial(_resolve_undecodable, base), charset)

    def resolved(reference: str) -> str | None:
        try:
            return str(join(reference))
        except _library.EmptyHost:
            pass
        except _NOT_A_URL:
            return _resolve_undecodable(base, reference)
        try:
            return str(join(_with_two_slashes(reference)))
        except _NOT_A_URL:
            return _resolve_undecodable(base, reference)

    return _in_charset(resolved, charset)


def _in_charset(resolved: Callable[[str], str | None], charset: str) -> Callable[[str], str | None]:
    if not encodes_queries(charset):
        return resolved

    def resolved_in_charset(reference: str) -> str | None:
        if not reference.isascii():
            try:
                reference = encode_query(reference, charset)
            except UnicodeError:
                return None
        return resolved(reference)

    return resolved_in_charset


def _with_two_slashes(reference: str) -> str:
    """The library stops at the third slash of `///host`, which browsers skip."""
    return _SLASHES.sub("//", reference)


def _resolve_undecodable(base: str, reference: str) -> str | None:
    """Where a link leads if its page's host or its own has an `xn--` label that stands for no
    text."""
    page, link = hide_labels_of_link(base, reference)
    if page.text == base and link.text == reference:
        return None
    try:
        join = _parse(page.text).join
        try:
            target = join(link.text)
        except _library.EmptyHost:
            target = join(_with_two_slashes(link.text))
    except _NOT_A_URL:
        return None
    return serialize(_shown(target, link))


def scheme_of(url: str) -> str | None:
    """The scheme, lower-case; None where the text is not an absolute URL."""
    try:
        return _parse(url).scheme
    except _NOT_A_URL:
        parts = _parse_undecodable(url)
        return None if parts is None else parts.scheme


def host_of(url: str) -> str | None:
    """The host: lower-case, in ASCII, IPv6 in brackets; None where there is none."""
    try:
        return _parse(url).host_str or None
    except _NOT_A_URL:
        parts = _parse_undecodable(url)
        return None if parts is None else parts.host


def authority(url: URL) -> str:
    """`scheme://host:port`, without the scheme's own port: what a robots.txt speaks for."""
    port = f":{url.port}" if url.port is not None else ""
    return f"{url.scheme}://{url.host}{port}"


def authority_of(url: str) -> str | None:
    """The authority; None where the text is not an absolute URL."""
    parsed = parse(url)
    return None if parsed is None else authority(parsed)


def serialize(url: URL) -> str:
    """The parts put together again."""
    authority = ""
    if url.host or url.scheme in ("http", "https", "ftp", "file"):
        authority = "//" + _userinfo(url) + url.host
        if url.port is not None:
            authority += f":{url.port}"
    elif url.path.startswith("//"):
        authority = "/."  # or the path would read as a host
    query = "" if url.query is None else "?" + url.query
    fragment = "" if url.fragment is None else "#" + url.fragment
    return f"{url.scheme}:{authority}{url.path}{query}{fragment}"


def _userinfo(url: URL) -> str:
    if url.password:
        return f"{url.username}:{url.password}@"
    return f"{url.username}@" if url.username else ""
