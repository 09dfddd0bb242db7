"""protocol file: files and folders of this machine below `file.root`.

Nothing is read unless `file.root` is set, and nothing outside of it, wherever a link or a
symbolic link leads. Links and redirects from the web to files are dropped before (rules/), so
that what is read is what seeds name and what lies below.
"""

from __future__ import annotations

import heapq
import mimetypes
import os
import stat
import sys
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from crawl.clock import SystemClock
from crawl.config import Config, size, text
from crawl.errors import ConfigError
from crawl.interfaces.protocol import (
    Failure,
    FailureKind,
    FetchProtocol,
    Request,
    Response,
    Truncation,
)
from crawl.plugins.protocol.shared.directory_listing import SHORTEST_LINE, listing_page
from crawl.urls.parse import parse

ROOT = text(
    "file.root",
    "",
    "Folder below which file: URLs may be read; empty: none are. To crawl files also name `file` in"
    " plugin.protocol, let the URL filters accept file: and inject file:///folder/ as a seed.",
)
CONTENT_LIMIT = size(
    "file.content.limit", 1024 * 1024, "Longest file; the rest is cut off; -1: none.", minimum=-1
)

_SYSTEM = SystemClock()


class FileProtocol(FetchProtocol):
    """`file`: answers as a web server would: 200, 301, 304, 403, 404."""

    schemes: tuple[str, ...] = ("file",)

    def __init__(
        self, config: Config, *, monotonic: Callable[[], float] = _SYSTEM.monotonic
    ) -> None:
        root = config[ROOT]
        if root and not Path(root).is_dir():
            raise ConfigError(f"{ROOT.name}: there is no folder {root!r}")
        self._root = os.path.realpath(root) if root else ""
        self._limit = config[CONTENT_LIMIT]
        self._monotonic = monotonic

    def fetch(self, request: Request) -> Response | Failure:
        url = parse(request.url)
        if url is None or url.scheme != "file" or url.host not in ("", "localhost"):
            return Failure(
                request.url, FailureKind.NOT_SUPPORTED, "not a file: URL of this machine"
            )
        if not self._root:
            reason = f"{ROOT.name} is not set: no files are read"
            return Failure(request.url, FailureKind.ADDRESS_REFUSED, reason)
        started = self._monotonic()
        path = os.fsdecode(unquote_to_bytes(url.path))
        try:
            return self._answer(request, path, started)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return Response(request.url, 404, sent=started)
        except OSError:
            return Response(request.url, 403, sent=started)

    def close(self) -> None:
        """Nothing is kept."""

    def _answer(self, request: Request, path: str, started: float) -> Response | Failure:
        real = os.path.realpath(path, strict=True)
        if real != self._root and not real.startswith(self._root.rstrip("/") + "/"):
            reason = f"outside of {ROOT.name}"
            return Failure(request.url, FailureKind.ADDRESS_REFUSED, reason)
        is_folder = stat.S_ISDIR(Path(real).stat().st_mode)
        proper = real.rstrip("/") + "/" if is_folder else real
        if path != proper:  # a symbolic link, or a folder without its slash
            location = "file://" + quote(os.fsencode(proper))
            return Response(request.url, 301, (("Location", location),), sent=started)
        # not a link that somebody put there since; nor does a pipe make it wait
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return self._read(request, path, descriptor, started)
        finally:
            os.close(descriptor)

    def _read(self, request: Request, path: str, descriptor: int, started: float) -> Response:
        status = os.fstat(descriptor)
        modified = ("Last-Modified", formatdate(status.st_mtime, usegmt=True))
        limit = self._limit if request.max_bytes is None else request.max_bytes
        limit = limit if limit >= 0 else sys.maxsize - 1
        since = request.modified_since_ms
        if stat.S_ISDIR(status.st_mode):
            body, truncated = listing_page(path, _entries(descriptor, limit), limit)
            kind = "text/html; charset=utf-8"
        elif not stat.S_ISREG(status.st_mode):
            return Response(request.url, 403, sent=started)
        elif since and int(status.st_mtime) * 1000 <= since:
            return Response(request.url, 304, (modified,), sent=started)
        else:
            with os.fdopen(descriptor, "rb", closefd=False) as opened:
                body = opened.read(limit + 1)
            truncated = Truncation.LENGTH if len(body) > limit else Truncation.WHOLE
            body = body[:limit]
            kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        return Response(
            request.url,
            200,
            (("Content-Type", kind), modified),
            body,
            truncated,
            sent=started,
            elapsed_ms=round((self._monotonic() - started) * 1000),
        )


def _entries(folder: int, limit: int) -> Iterator[tuple[str, bool]]:
    """The first entries by name; no more are held than a page of that size can list."""
    most = limit // SHORTEST_LINE + 1
    with os.scandir(folder) as entries:
        for entry in heapq.nsmallest(most, entries, key=lambda each: each.name):
            yield entry.name, entry.is_dir(follow_symlinks=False)
