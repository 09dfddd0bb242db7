"""A web in this process whose pages follow a script over virtual years; no byte is sent.

A protocol plugin, so that all of the crawler is at work but the network; like all plugins
it is named in the configuration, and so what it plays is found by a name, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate

from crawl.config import Config, text
from crawl.interfaces.protocol import Request, Response

SCRIPT = text("test.script", "", "Which script is played.")


@dataclass(frozen=True)
class Scene:
    """What is at a URL at a moment."""

    code: int = 200
    text: str = ""
    links: tuple[str, ...] = ()
    etag: str = ""
    modified_ms: int | None = None
    """Given as Last-Modified where there is one."""
    target: str = ""

    @property
    def last_modified(self) -> str:
        if self.modified_ms is None:
            return ""
        return formatdate(self.modified_ms // 1000, usegmt=True)

    @property
    def body(self) -> bytes:
        items = "".join(f'<a href="{link}">link</a>' for link in self.links)
        return f"<html><head><title>t</title></head><body>{self.text}{items}</body></html>".encode()


@dataclass
class Script:
    """All pages, and what time it is for them."""

    pages: dict[str, Callable[[int], Scene]]
    now: Callable[[], int]
    robots_code: int = 404
    asked: list[tuple[int, str, int]] = field(default_factory=list)
    """(when, URL, code): every request but those for robots.txt."""


PLAYED: dict[str, Script] = {}


def answers_unchanged(scene: Scene, etag: str, last_modified: str) -> bool:
    """Whether a server would answer 304, by RFC 9110: an ETag goes before a date, which is
    compared as nginx does."""
    if scene.code != 200:
        return False
    if etag:
        return etag == scene.etag
    return bool(last_modified) and last_modified == scene.last_modified


class ScriptedProtocol:
    schemes = ("http", "https")

    def __init__(self, config: Config) -> None:
        self._script = PLAYED[config[SCRIPT]]

    def fetch(self, request: Request) -> Response:
        now = self._script.now()
        if request.url.endswith("/robots.txt"):
            return Response(request.url, self._script.robots_code, (), b"")
        page = self._script.pages.get(request.url)
        scene = Scene(404) if page is None else page(now)
        headers = [("Content-Type", "text/html; charset=utf-8")]
        if scene.etag:
            headers.append(("ETag", scene.etag))
        if scene.last_modified:
            headers.append(("Last-Modified", scene.last_modified))
        if scene.target:
            headers.append(("Location", scene.target))
        code = scene.code
        if answers_unchanged(scene, request.etag, request.last_modified):
            code = 304
        self._script.asked.append((now, request.url, code))
        body = b"" if code == 304 else scene.body
        return Response(request.url, code, tuple(headers), body)

    def close(self) -> None:
        pass
