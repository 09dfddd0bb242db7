"""The rules of one host for this crawler: small, picklable, the same for every thread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crawl.robots.match import is_allowed
from crawl.robots.octets import path_octets
from crawl.urls.parse import parse

ROBOTS_PATH = "/robots.txt"
NOTHING_ALLOWED = "Disallow: /"


class Basis(StrEnum):
    """What the rules rest on; each is a reason to count."""

    FILE = "robots_file"
    TOO_COMPLEX = "robots_too_complex"
    """A file whose wildcards would take too long to search: nothing is allowed."""
    ABSENT = "robots_absent"
    """The host has none to give: any 4xx but those below."""
    FORBIDDEN = "robots_forbidden"
    """403 for robots.txt itself."""
    REDIRECTS = "robots_redirects"
    """Redirected too often, or to nowhere."""
    SERVER_ERROR = "robots_server_error_ignored"
    """429 or 5xx, and not to be waited for."""
    EXEMPT = "robots_exempt"
    """Not asked: the host is on the allowlist, or the scheme has no robots.txt."""


@dataclass(frozen=True, slots=True)
class RobotRules:
    """What a host lets this crawler fetch, and how fast."""

    basis: Basis
    rules: str = ""
    """`Allow: …` and `Disallow: …` lines of the group that is meant for this crawler,
    spelled by `octets`; empty where everything is allowed."""
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    """Absolute http(s) URLs, in the order of the file."""

    def allows(self, url: str) -> bool:
        """Whether the URL may be fetched; never for a text that is no URL."""
        parts = parse(url)
        if parts is None:
            return False
        path = parts.path or "/"
        if parts.query is not None:
            path = f"{path}?{parts.query}"
        return not self.rules or path == ROBOTS_PATH or is_allowed(self.rules, path_octets(path))


def allow_all(basis: Basis) -> RobotRules:
    """Rules that allow everything."""
    return RobotRules(basis)


def disallow_all(basis: Basis) -> RobotRules:
    """Rules that allow nothing but robots.txt itself."""
    return RobotRules(basis, NOTHING_ALLOWED)
