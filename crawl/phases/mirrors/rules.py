"""Which sites are copies of each other, and which of them stands for the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from crawl.urls.parse import URL, parse


class MirrorKind(StrEnum):
    """In what two sites differ."""

    SCHEME = "scheme"
    """http and https of one host."""
    WWW = "www"
    """A host, and the same with `www.` before it; perhaps under another scheme."""
    PORT = "port"
    """Two ports of one host."""
    COPY = "copy"
    """Two hosts."""


@dataclass(frozen=True, slots=True)
class MirrorEvidence:
    """What a crawl says of two sites (scheme, host and port)."""

    site: str
    """The one that stands for both."""
    mirror: str
    site_pages: int
    mirror_pages: int
    common: int
    """Paths of both that were compared."""
    agreeing: int
    """Those with the same content."""
    contents: int
    """Different contents among these."""
    sampled: int = 1
    """One in so many paths was compared."""

    @property
    def kind(self) -> MirrorKind:
        one, other = _parsed(self.site), _parsed(self.mirror)
        if one.host == other.host:
            return MirrorKind.SCHEME if one.port == other.port else MirrorKind.PORT
        if one.host.removeprefix("www.") == other.host.removeprefix("www."):
            return MirrorKind.WWW
        return MirrorKind.COPY


@dataclass(frozen=True, slots=True)
class MirrorBounds:
    """What evidence must be like."""

    min_contents: int = 10
    min_agreement: float = 0.95
    """Share of the common paths that have the same content."""
    min_coverage: float = 0.1
    """Share of the smaller site's pages that are common paths."""

    def holds(self, evidence: MirrorEvidence) -> bool:
        """Whether the two are copies of each other."""
        smaller = min(evidence.site_pages, evidence.mirror_pages)
        return (
            evidence.contents >= self.min_contents
            and evidence.agreeing >= self.min_agreement * evidence.common
            and evidence.common * evidence.sampled >= self.min_coverage * smaller
        )


def preference(site: str, pages: int) -> tuple[bool, int, int, str]:
    """By which of several copies the least stands for the others: https, the most pages, the
    shortest name."""
    return not site.startswith("https:"), -pages, len(site), site


def host_rules(mirrors: Iterable[MirrorEvidence]) -> dict[str, str]:
    """Hosts to be replaced, and by which. What stands for others is itself not replaced."""
    targets: dict[str, str] = {}
    for each in mirrors:
        one, other = _parsed(each.site), _parsed(each.mirror)
        if one.host != other.host and one.port == other.port:
            targets.setdefault(other.host, one.host)
    return {host: target for host, target in targets.items() if target not in targets}


def scheme_rules(mirrors: Iterable[MirrorEvidence]) -> dict[str, str]:
    """Hosts of which one scheme is enough, and which."""
    schemes: dict[str, str] = {}
    for each in mirrors:
        one, other = _parsed(each.site), _parsed(each.mirror)
        if each.kind is MirrorKind.SCHEME and one.port is None and one.scheme != other.scheme:
            schemes.setdefault(one.host, one.scheme)
    return schemes


def _parsed(site: str) -> URL:
    url = parse(f"{site}/")
    assert url is not None, site
    return url
