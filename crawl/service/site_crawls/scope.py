"""Which URLs belong to a site crawl.

Expressions come from whoever may ask for a crawl, so they are searched for by RE2, which needs time
in proportion to the text, whatever the expression is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from crawl.errors import UsageError
from crawl.urls.domains import registered_domain
from crawl.urls.parse import host_of

MAX_ENTRIES = 100
"""Of each kind in a scope."""
MAX_EXPRESSION = 1000
"""Characters of one."""


class ScopeWish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What belongs to a site, as it is asked for. Without hosts, domains and prefixes: the hosts of
    the seeds."""

    hosts: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    """Registered domains, with all hosts below them."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of URLs."""
    include: tuple[str, ...] = ()
    """Regular expressions (RE2), of which one must be found in a URL."""
    exclude: tuple[str, ...] = ()
    """The same, of which none may be found; this one wins."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Judges URLs in normal form."""

    hosts: frozenset[str]
    domains: frozenset[str]
    prefixes: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]

    @classmethod
    def of(cls, wish: ScopeWish, seeds: Iterable[str]) -> Scope:
        """Raises UsageError, which names the entry, for what cannot be meant."""
        for name in ("hosts", "domains", "prefixes", "include", "exclude"):
            entries = getattr(wish, name)
            if len(entries) > MAX_ENTRIES:
                raise UsageError(f"scope.{name}: at most {MAX_ENTRIES} entries, got {len(entries)}")
            for entry in entries:
                if not entry or len(entry) > MAX_EXPRESSION:
                    raise UsageError(
                        f"scope.{name}: each has from 1 to {MAX_EXPRESSION} characters"
                    )
        hosts = frozenset(_host(name, "hosts") for name in wish.hosts)
        domains = frozenset(_host(name, "domains") for name in wish.domains)
        if not (hosts or domains or wish.prefixes):
            hosts = frozenset(filter(None, map(host_of, seeds)))
        for name in ("include", "exclude"):
            for expression in getattr(wish, name):
                _check_expression(expression, name)
        return cls(hosts, domains, wish.prefixes, wish.include, wish.exclude)

    def contains(self, url: str) -> bool:
        """Whether the URL belongs to the site."""
        host = host_of(url) or ""
        is_inside = (
            host in self.hosts
            or (bool(self.domains) and self._is_of_domain(host))
            or url.startswith(self.prefixes)
        )
        if not is_inside:
            return False
        if self.include and not _is_found(self.include, url):
            return False
        return not (self.exclude and _is_found(self.exclude, url))

    def _is_of_domain(self, host: str) -> bool:
        if registered_domain(host) in self.domains:
            return True
        while host:
            if host in self.domains:
                return True
            host = host.partition(".")[2]
        return False


def _host(name: str, field: str) -> str:
    host = host_of(f"http://{name}/")
    if host is None or any(letter in name for letter in "/?#@\\ "):
        raise UsageError(f"scope.{field}: {name[:80]!r} is not a host")
    return host


def _check_expression(expression: str, field: str) -> None:
    try:
        _is_found((expression,), "http://host/")
    except UsageError as error:
        raise UsageError(f"scope.{field}: {error}") from None


def _is_found(expressions: Iterable[str], url: str) -> bool:
    text = pa.scalar(url)
    for expression in expressions:
        try:
            if pc.match_substring_regex(text, expression).as_py():
                return True
        except pa.ArrowInvalid:
            raise UsageError(f"{expression[:80]!r} is no regular expression of RE2") from None
    return False
