"""A page from a file, for checkers that send nothing."""

from __future__ import annotations

from pathlib import Path

from crawl.errors import StorageError
from crawl.model.content import Content
from crawl.model.status import Status


def read_page(path: str, url: str | None, now_ms: int) -> Content:
    """The file as a page that was fetched now, from the URL, or from the file's own."""
    try:
        body = Path(path).read_bytes()
        address = Path(path).absolute().as_uri() if url is None else url
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return Content(address, body, code=200, fetch_time=now_ms, status=int(Status.FETCH_SUCCESS))
