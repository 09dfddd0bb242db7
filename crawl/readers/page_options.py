"""What can be asked of checkers that look at pages: URLs that are fetched, or a file."""

from __future__ import annotations

from typing import Annotated

from crawl.errors import UsageError
from crawl.operations.options import option
from crawl.operations.work import Work

MAX_REDIRECTS = 5
"""That are followed where the configuration leaves them to a later round."""

PageUrls = Annotated[tuple[str, ...], option("URLs.", metavar="[URL]...", argument=True)]
FollowRedirects = Annotated[
    bool, option(f"Follow redirects: as many as http.redirect.max allows, or {MAX_REDIRECTS}.")
]
PageFile = Annotated[str | None, option("Take this file; nothing is sent.", metavar="PATH")]
FileUrl = Annotated[str | None, option("With --file: where it were found.", metavar="URL")]


def check_source(work: Work, urls: tuple[str, ...], file: str | None, url: str | None) -> None:
    """Raises UsageError where it is not clear which pages are meant."""
    if file is not None and (urls or work.lines is not None):
        raise UsageError("--file goes without URLs, --stdin and --listen")
    if file is None and url is not None:
        raise UsageError("--url goes with --file")
