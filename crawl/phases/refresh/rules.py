"""refresh's decisions: which URLs a pattern means, and what becomes of a record that it matches.

Patterns are read as people write them: a host, `*.` before a domain, a URL, or either with `*` for
any characters. A `?` is a `?`, for URLs have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from crawl.errors import UsageError
from crawl.model.status import Status
from crawl.urls.parse import authority, host_of, parse

_ANY_SCHEME = "[a-z][a-z0-9+.-]*://"
_USER = "(?:[^/@]*@)?"
_PORT = "(?::[0-9]+)?"
_END_OF_AUTHORITY = re.compile(r"[/?#]")


class RefreshOutcome(StrEnum):
    """What becomes of a record whose URL matches; the value is what is counted."""

    MADE_DUE = "made_due"
    ALREADY_DUE = "already_due"
    GONE = "gone"
    """Left as it is: pages that are gone come up again after their own, longer interval."""
    ON_FETCH_LIST = "on_fetch_list"
    """Selected already: it is being fetched, or will be."""


def refresh_outcome(
    status: Status, *, is_due: bool, is_listed: bool, with_gone: bool
) -> RefreshOutcome:
    """What becomes of a record that a pattern matches."""
    if status is Status.DB_GONE and not with_gone:
        return RefreshOutcome.GONE
    if is_listed:
        return RefreshOutcome.ON_FETCH_LIST
    return RefreshOutcome.ALREADY_DUE if is_due else RefreshOutcome.MADE_DUE


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """URLs that one argument means: those for which both expressions hold. They are in the syntax
    that Arrow and Python share, and meant for a search."""

    text: str
    """As it was given."""
    host: str = ""
    """The one host of all its URLs, where it names one."""
    host_regex: str = ""
    """Of the host; empty for any."""
    url_regex: str = ""
    """Of the whole URL; empty for any."""

    def matches(self, url: str, host: str) -> bool:
        """Whether it means the URL of that host."""
        return all(
            not regex or re.search(regex, value) is not None
            for regex, value in ((self.host_regex, host), (self.url_regex, url))
        )


def parse_pattern(
    text: str, normalize: Callable[[str], str | None] = lambda url: url
) -> UrlPattern:
    """Reads a host, domain, URL or pattern; UsageError where it is none. A page is meant as it was
    typed, and in the normal form that the crawl gives it."""
    pattern = text.strip()
    if not pattern or any(character.isspace() for character in pattern):
        raise _no_pattern(text)
    if pattern == "*":
        return UrlPattern(text)
    scheme, mark, rest = pattern.partition("://")
    if not mark:
        return _without_scheme(text, pattern)
    end = _END_OF_AUTHORITY.search(rest)
    head, path = (rest, "") if end is None else (rest[: end.start()], rest[end.start() :])
    if "*" in scheme or "*" in head:
        return UrlPattern(text, url_regex=f"^{_glob(pattern)}$")
    site = parse(f"{scheme}://{head}/")
    if site is None or not site.host:
        raise _no_pattern(text)
    if "*" in path:
        return _of_host(text, site.host, f"^{_glob(authority(site) + path)}$")
    spelt = {pattern, str(parse(pattern) or pattern), normalize(pattern) or pattern}
    hosts = {host_of(url) or "" for url in spelt}
    regex = f"^(?:{'|'.join(sorted(map(_glob, spelt)))})$"
    return UrlPattern(text, hosts.pop() if len(hosts) == 1 else "", url_regex=regex)


def _without_scheme(text: str, pattern: str) -> UrlPattern:
    """A host or a domain, and perhaps a path there, on whatever scheme."""
    head, slash, path = pattern.partition("/")
    if head.startswith("*.") and "*" not in head[2:]:
        name = host_of(f"http://{head[2:]}/")
        if name is None:
            raise _no_pattern(text)
        host_regex, place = rf"^(?:.*\.)?{_glob(name)}$", "[^/]*"
        base = UrlPattern(text, host_regex=host_regex)
    elif "*" in head:
        if slash:
            return UrlPattern(text, url_regex=f"^{_ANY_SCHEME}{_glob(pattern)}$")
        return UrlPattern(text, host_regex=f"^{_glob(head.lower())}$")
    else:
        site = parse(f"http://{head}/")
        if site is None or not site.host or site.username or site.password:
            raise _no_pattern(text)
        port = _PORT if site.port is None else f":{site.port}"
        place = f"{_USER}{_glob(site.host)}{port}"
        base = _of_host(text, site.host)
        if site.port is not None and not slash:
            slash, path = "/", "*"
    if not slash:
        return base
    regex = f"^{_ANY_SCHEME}{place}{_glob('/' + path)}$"
    return UrlPattern(text, base.host, base.host_regex, regex)


def _of_host(text: str, host: str, url_regex: str = "") -> UrlPattern:
    return UrlPattern(text, host, f"^{_glob(host)}$", url_regex)


def _glob(text: str) -> str:
    """The expression for a text in which `*` stands for any characters."""
    return "".join(".*" if each == "*" else _literal(each) for each in text)


def _literal(character: str) -> str:
    """A character as it is: `re.escape` escapes what Arrow's RE2 does not let escape."""
    is_plain = character.isalnum() or character == "_" or ord(character) > 127
    return character if is_plain else f"\\{character}"


def _no_pattern(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is no host, URL or pattern: give one such as example.org, *.example.org,"
        " https://example.org/page or https://example.org/blog/*"
    )
