"""What can be asked of parsechecker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import option
from crawl.readers.page_options import FileUrl, FollowRedirects, PageFile, PageUrls


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsecheckerOptions:
    """The options of parsechecker."""

    urls: PageUrls = ()
    normalize: Annotated[bool, option("Ask for URLs in their normal form.")] = False
    follow_redirects: FollowRedirects = False
    dump_text: Annotated[bool, option("Print the text too.")] = False
    force_as: Annotated[str, option("Take every page for this type.", metavar="MIME")] = ""
    metadata: Annotated[
        tuple[str, ...],
        option(
            "Metadata of the URLs, as a seed line would give it (repeatable).",
            "--md",
            metavar="KEY=VALUE",
        ),
    ] = ()
    file: PageFile = None
    url: FileUrl = None
