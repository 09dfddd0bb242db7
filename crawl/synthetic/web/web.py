"""A synthetic web: what is at each of its URLs, computed from the URL and a seed.

Nothing is stored, so that a web of a hundred million pages costs no more than one of ten,
and a test can ask what a correct crawler must find.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b, md5
from urllib.parse import urljoin, urlsplit

from crawl.errors import UsageError
from crawl.synthetic.web import robots, sitemap
from crawl.synthetic.web.kinds import (
    CHAIN_LENGTH,
    ENCODINGS,
    ERROR_CODES,
    REDIRECT_CODES,
    REDIRECTING,
    Charset,
    PageKind,
    RobotsKind,
)
from crawl.synthetic.web.page import Page, origin, write_page
from crawl.synthetic.web.plan import PageDraws, PagePosition, WebPlan
from crawl.synthetic.web.sessions import without_session
from crawl.synthetic.web.settings import Settings

EPOCH = 1_767_225_600
"""The web's time 0, in seconds since 1970: 2026-01-01 00:00:00 UTC."""
_PERIODS = (60, 3600, 86_400, 604_800)
_YEAR = 31_536_000


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """The answer that a URL must give: the truth that a crawler is measured against."""

    url: str
    code: int
    kind: PageKind | None = None
    """None for robots.txt, sitemaps and what does not exist."""
    location: str = ""
    """The header as it is sent; see `target`."""
    content_type: str = "text/html"
    parts: tuple[bytes | memoryview, ...] = ()
    charset: Charset | None = None
    title: str = ""
    links: tuple[str, ...] = ()
    """Absolute URLs, each once."""
    etag: str = ""
    modified: int = 0
    """Last-Modified in seconds since 1970; 0 for none."""
    encoding: str = ""
    """The Content-Encoding that a client gets which accepts it."""
    retry_after: int = 0
    latency: float = 0.0
    """Seconds before the answer."""

    @property
    def body(self) -> bytes:
        """Without content encoding."""
        return b"".join(self.parts)

    @property
    def digest(self) -> str:
        """MD5 of the body in hexadecimal."""
        return md5(self.body, usedforsecurity=False).hexdigest()

    @property
    def target(self) -> str:
        """Where a redirect leads; empty for none."""
        return urljoin(self.url, self.location) if self.location else ""


class Web:
    """The web of some settings."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.plan = WebPlan(self.settings)

    def at_port(self, port: int) -> Web:
        """The same web on another port."""
        return Web(replace(self.settings, port=port))

    def hosts(self) -> list[str]:
        """The names of all sites."""
        return [self.plan.host(site) for site in range(self.settings.sites)]

    def seeds(self) -> list[str]:
        """The front pages of all sites."""
        return [f"{origin(self.plan, site)}/" for site in range(self.settings.sites)]

    def urls(self) -> Iterator[str]:
        """Every page of every site, in whatever state, without the inner hops of chains."""
        for site, size in enumerate(self.plan.sizes):
            here = origin(self.plan, site)
            for number in range(size):
                yield here + self.plan.path(site, number)

    def address(self, host: str) -> str:
        """The loopback address of a host; hosts share them."""
        digest = blake2b(host.lower().encode(), digest_size=4).digest()
        return f"127.0.0.{1 + int.from_bytes(digest) % self.settings.addresses}"

    def robots(self, host: str) -> RobotsKind:
        """What is at the host's /robots.txt."""
        return robots.robots_kind(self.plan, self._site(host))

    def crawl_delay(self, host: str) -> float | None:
        """The Crawl-delay of the host's robots.txt, if it has one."""
        return robots.crawl_delay(self.plan, self._site(host))

    def allowed(self, url: str, agent: str, time: float = 0.0) -> bool:
        """Whether robots.txt lets a crawler of that product token get the URL at that time.

        Where robots.txt cannot be had for now, nothing is allowed.
        """
        site, path = self._split(url)
        return robots.allows(self.plan, site, path, agent, time)

    def expected(self, url: str, time: float = 0.0) -> ExpectedAnswer:
        """What is at the URL at that moment of the web's own time."""
        site, path = self._split(url)
        latency = self._latency(site)
        if robots.is_robots(path):
            return self._robots(url, site, path, time, latency)
        file = sitemap.sitemap(self.plan, site, path)
        if file is not None and file.location:
            return replace(_missing(url, 301, latency), location=file.location)
        if file is not None:
            parts = (file.body,)
            return ExpectedAnswer(url, 200, None, "", file.content_type, parts, latency=latency)
        path, part = without_session(self.plan, site, path)
        position = self.plan.position(site, path)
        if position is None:
            return _missing(url, 404, latency)
        return self._at(url, position, time, latency, part)

    def _at(
        self, url: str, position: PagePosition, time: float, latency: float, part: int
    ) -> ExpectedAnswer:
        plan, site, number = self.plan, position.site, position.number
        draws = plan.draws(site, number)
        kind = plan.kind(site, number, draws)
        match kind:
            case _ if kind in REDIRECTING:
                code = REDIRECT_CODES[draws.size % len(REDIRECT_CODES)]
                location = self._location(kind, position, draws)
                return replace(_missing(url, code, latency), kind=kind, location=location)
            case PageKind.ERROR:
                code = ERROR_CODES[draws.detail % len(ERROR_CODES)]
                return self._refused(url, code, kind, latency)
            case PageKind.FLAKY if time < self.settings.repair:
                return self._refused(url, 503, kind, latency)
            case PageKind.SLOW:
                latency += self.settings.slow
        period = _PERIODS[draws.detail % len(_PERIODS)]
        version = int(time // period) if kind is PageKind.CHANGING else 0
        page = self._page(kind, position, draws, version, part)
        compressed = draws.encoding < self.settings.compressed * 2**32
        encoding = ENCODINGS[draws.encoding % len(ENCODINGS)] if compressed else ""
        # of four pages one has no validator, one an ETag, one Last-Modified and one both
        etag = f'"{draws.text:08x}-{version}"' if draws.charset & 256 else ""
        if etag and encoding:
            etag = f"W/{etag}"  # one version in several encodings is only weakly the same
        changed = version * period if kind is PageKind.CHANGING else -(draws.detail % _YEAR)
        return ExpectedAnswer(
            *(url, 200, kind, "", page.content_type, page.parts, page.charset, page.title),
            links=page.links,
            etag=etag,
            modified=EPOCH + changed if draws.charset & 512 else 0,
            encoding=encoding,
            latency=latency,
        )

    def _page(
        self, kind: PageKind, position: PagePosition, draws: PageDraws, version: int, part: int
    ) -> Page:
        site, number = position.site, position.number
        if kind in (PageKind.DUPLICATE, PageKind.NEAR):
            original = self.plan.sound(site, draws.detail % number, private=False)
            mark = f", again as {number}" if kind is PageKind.NEAR else ""
            return write_page(self.plan, site, original, mark=mark)
        mark = f", part {part}" if part else ""
        return write_page(self.plan, site, number, version=version, mark=mark)

    def _location(self, kind: PageKind, position: PagePosition, draws: PageDraws) -> str:
        plan, site, number = self.plan, position.site, position.number
        if kind is PageKind.AWAY:
            there, far = plan.anywhere(draws.detail)
            far = plan.sound(there, far, private=True)
            return origin(plan, there) + plan.path(there, far)
        if kind is PageKind.TOUR and site + 1 < self.settings.sites:
            far = min(number, plan.sizes[site + 1] - 1)
            return origin(plan, site + 1) + plan.path(site + 1, far)
        if kind is PageKind.LOOP:
            return plan.path_of(PagePosition(site, number, 1 - position.hop))
        if kind is PageKind.CHAIN and position.hop + 1 < CHAIN_LENGTH:
            return plan.path_of(PagePosition(site, number, position.hop + 1))
        near = plan.path(site, plan.sound(site, draws.detail % number, private=True))
        # half of the redirects are absolute, as they once had to be
        return origin(plan, site) + near if draws.text % 2 else near

    def _refused(
        self, url: str, code: int, kind: PageKind | None, latency: float
    ) -> ExpectedAnswer:
        wait = self.settings.retry_after if code in (429, 503) else 0
        return replace(_missing(url, code, latency), kind=kind, retry_after=wait)

    def _robots(
        self, url: str, site: int, path: str, time: float, latency: float
    ) -> ExpectedAnswer:
        file = robots.robots_file(self.plan, site, path, time)
        if file.code != 200:
            return replace(self._refused(url, file.code, None, latency), location=file.location)
        parts = (file.text.encode(),)
        return ExpectedAnswer(url, 200, None, "", file.content_type, parts, latency=latency)

    def _latency(self, site: int) -> float:
        if not self.settings.latency:
            return 0.0
        return self.settings.latency * (0.5 + self.plan.draws(site, 0).detail / 2**32)

    def _site(self, host: str) -> int:
        site = self.plan.site(host.lower())
        if site is None:
            raise UsageError(f"{host} is no site of this web of {self.settings.sites} sites")
        return site

    def _split(self, url: str) -> tuple[int, str]:
        parts = urlsplit(url)
        site = self._site(parts.hostname or "")
        port = self.settings.port or 80
        if parts.scheme != "http" or (parts.port or 80) != port:
            raise UsageError(f"{url} is not of this web: it is http on port {port}")
        path = parts.path or "/"
        return site, f"{path}?{parts.query}" if parts.query else path


def _missing(url: str, code: int, latency: float) -> ExpectedAnswer:
    body = f"<!DOCTYPE html>\n<html><head><title>{code}</title></head><body>{code}</body></html>\n"
    return ExpectedAnswer(url, code, parts=(body.encode(),), title=str(code), latency=latency)
