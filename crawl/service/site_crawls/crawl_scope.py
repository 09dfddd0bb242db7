"""Which URLs belong to a site crawl.

Expressions come from whoever may ask for a crawl, so they are searched for by RE2, which needs time
in proportion to the text, whatever the expression is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
class CrawlScope:
    """Judges URLs in normal form."""

    hosts: frozenset[str]
    domains: frozenset[str]
    prefixes: tuple[str, ...]
    include: tuple[str, ...]
    """As few expressions as mean the same: each costs a pass."""
    exclude: tuple[str, ...]
    is_of_seeds: bool = False
    """Whether nothing was said, so that it is the hosts of the seeds."""

    @classmethod
    def of(cls, wish: ScopeWish, seeds: Iterable[str]) -> CrawlScope:
        """Raises UsageError, which names the entry, for what cannot be meant."""
        for name, entries in (
            ("hosts", wish.hosts),
            ("domains", wish.domains),
            ("prefix", wish.prefixes),
            ("include", wish.include),
            ("exclude", wish.exclude),
        ):
            if len(entries) > MAX_ENTRIES:
                raise UsageError(f"scope.{name}: at most {MAX_ENTRIES} entries, got {len(entries)}")
            for entry in entries:
                if not entry or len(entry) > MAX_EXPRESSION:
                    raise UsageError(
                        f"scope.{name}: expected from 1 to {MAX_EXPRESSION:,} characters in each"
                        f" entry, got {len(entry):,}"
                    )
        hosts = frozenset(_host(name, "hosts") for name in wish.hosts)
        domains = frozenset(_host(name, "domains") for name in wish.domains)
        is_of_seeds = not (hosts or domains or wish.prefixes)
        if is_of_seeds:
            hosts = frozenset(filter(None, map(host_of, seeds)))
        for name in ("include", "exclude"):
            for expression in getattr(wish, name):
                _check_expression(expression, name)
        include, exclude = _joined(wish.include), _joined(wish.exclude)
        return cls(hosts, domains, wish.prefixes, include, exclude, is_of_seeds)

    def with_hosts(self, hosts: Iterable[str]) -> CrawlScope:
        """The same with further hosts."""
        return replace(self, hosts=self.hosts.union(hosts))

    def contains(self, url: str) -> bool:
        """Whether the URL belongs to the site."""
        return self.contains_each([url])[0]

    def contains_each(self, urls: Sequence[str]) -> list[bool]:
        """The same of several URLs: an expression is read once for all of them."""
        inside = [self._is_of_site(url) for url in urls]
        if not any(inside) or not (self.include or self.exclude):
            return inside
        texts = pa.array(urls, pa.string())
        if self.include:
            found = _found(self.include, texts)
            inside = [each and is_found for each, is_found in zip(inside, found, strict=True)]
        if self.exclude:
            found = _found(self.exclude, texts)
            inside = [each and not is_found for each, is_found in zip(inside, found, strict=True)]
        return inside

    def _is_of_site(self, url: str) -> bool:
        host = host_of(url) or ""
        return (
            host in self.hosts
            or (bool(self.domains) and self._is_of_domain(host))
            or url.startswith(self.prefixes)
        )

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
        _found((expression,), pa.array(["http://host/"]))
    except UsageError as error:
        raise UsageError(f"scope.{field}: {error}") from None


def _joined(expressions: tuple[str, ...]) -> tuple[str, ...]:
    """All as one expression, where that means the same and RE2 takes it."""
    if len(expressions) < 2 or any(r"\Q" in each for each in expressions):  # it may have no end
        return expressions
    together = ("|".join(f"(?:{each})" for each in expressions),)
    try:
        _found(together, pa.array([""]))
    except UsageError:  # each is small enough, and all of them are not
        return expressions
    return together


def _found(expressions: Iterable[str], texts: pa.Array[Any]) -> list[bool]:
    """Whether one of the expressions is found, for each of the texts."""
    found = [False] * len(texts)
    for expression in expressions:
        try:
            matches = pc.match_substring_regex(texts, expression).to_pylist()
        except pa.ArrowInvalid:
            raise UsageError(f"{expression[:80]!r} is no regular expression of RE2") from None
        found = [before or bool(now) for before, now in zip(found, matches, strict=True)]
    return found
