"""Dust: parts of a site's URLs that make no difference to what it answers, and rules that take
them away.

"Different URLs with similar text" is what Bar-Yossef, Keidar and Schonfeld call it (Do not crawl
in the DUST, 2007). A rule is for one host; `crawl dust` learns rules, the urlnormalizer `dust`
applies them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from crawl.urls.parse import URL


class DustKind(StrEnum):
    """What a rule takes away."""

    PARAM = "param"
    """A parameter of the query, by name."""
    PATH_PARAM = "path-param"
    """A parameter of the last segment of the path, by name: `;jsessionid=1F`."""
    INDEX = "index"
    """The name of a folder's own page: `/a/index.html` is `/a/`."""
    SLASH = "slash"
    """`-` takes a slash from the end of the path, `+` adds one; not where its last segment has
    a dot."""
    CASE = "case"
    """`lower` writes the path in lower-case letters."""


ADD, REMOVE, LOWER = "+", "-", "lower"
VALUES: dict[DustKind, tuple[str, ...]] = {DustKind.SLASH: (ADD, REMOVE), DustKind.CASE: (LOWER,)}
"""The values of the kinds that have no names."""

MAX_NAME = 100
"""Characters of a name, at most."""
_NAME = re.compile(r"[!-~]{1,100}", re.ASCII)
_INDEX = re.compile(
    r"(?:index|default|home|main|welcome)\.(?:x?html?|shtml|php[3-8]?|aspx?|jsp|jspx|cgi|pl|cfm|do)",
    re.ASCII | re.IGNORECASE,
)
_UPPER = re.compile(r"(?<!%)(?<!%[0-9A-F])[A-Z]")


@dataclass(frozen=True, slots=True, order=True)
class DustRule:
    """One rule of a host."""

    kind: DustKind
    name: str
    """Of what is taken away; of SLASH and CASE one of VALUES."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def is_dust_name(kind: DustKind, name: str) -> bool:
    """Whether a rule of the kind can have the name."""
    if kind in VALUES:
        return name in VALUES[kind]
    if kind is DustKind.INDEX:
        return _INDEX.fullmatch(name) is not None
    return _NAME.fullmatch(name) is not None and not set(name) & set("&=#;/?")


@dataclass(frozen=True, slots=True)
class HostDust:
    """All rules of a host."""

    params: frozenset[str] = frozenset()
    path_params: frozenset[str] = frozenset()
    indexes: frozenset[str] = frozenset()
    slash: str = ""
    lower: bool = False

    @classmethod
    def of(cls, rules: Iterable[DustRule]) -> HostDust:
        names: dict[DustKind, set[str]] = {kind: set() for kind in DustKind}
        for rule in rules:
            names[rule.kind].add(rule.name)
        return cls(
            frozenset(names[DustKind.PARAM]),
            frozenset(names[DustKind.PATH_PARAM]),
            frozenset(names[DustKind.INDEX]),
            max(names[DustKind.SLASH], default=""),
            LOWER in names[DustKind.CASE],
        )

    def applied(self, url: URL) -> URL:
        """The URL without its dust."""
        return url._replace(path=self._path(url.path), query=self._query(url.query))

    def _path(self, path: str) -> str:
        folder, slash, last = path.rpartition("/")
        segment, *params = last.split(";")
        remaining = [each for each in params if each.partition("=")[0] not in self.path_params]
        folder += slash
        if self.lower:
            folder, segment = _lowered(folder), _lowered(segment)
        if remaining:
            return folder + ";".join([segment, *remaining])
        if segment in self.indexes:
            segment = ""
        if not self.slash or (not segment and folder == "/"):
            return folder + segment
        if segment:
            add = self.slash == ADD and "." not in segment
            return folder + segment + "/" * add
        before = folder[:-1]
        last = before.rpartition("/")[2]
        remove = self.slash == REMOVE and last and not set(last) & set(".;")
        return before if remove else folder

    def _query(self, query: str | None) -> str | None:
        if not query or not self.params:
            return query
        pieces = query.split("&")
        remaining = [each for each in pieces if each.partition("=")[0] not in self.params]
        if len(remaining) == len(pieces):
            return query
        return "&".join(remaining) if any(remaining) else None


def _lowered(text: str) -> str:
    """In lower case, but for escapes, which have upper-case digits in normal form."""
    return _UPPER.sub(lambda match: match[0].lower(), text)
