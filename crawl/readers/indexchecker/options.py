"""What can be asked of indexchecker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import option
from crawl.readers.page_options import FileUrl, FollowRedirects, PageFile, PageUrls


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexcheckerOptions:
    """The options of indexchecker."""

    urls: PageUrls = ()
    follow_redirects: FollowRedirects = False
    file: PageFile = None
    url: FileUrl = None
    connect: Annotated[
        bool, option("Ask the index writers' servers too whether they are there; nothing is made.")
    ] = False
