"""indexingfilter more: lastModified, date, contentLength and type, by the response's headers."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from urllib.parse import unquote

from crawl.config import Config, boolean
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.model.documents import IndexDocument
from crawl.plugins.indexingfilter.basic import iso_time

MIME_PARTS = boolean(
    "moreIndexingFilter.indexMimeTypeParts",
    True,
    "The field type has the parts of the type too: text/html, text, html.",
)

_FILE_NAME = re.compile(
    r"filename\*\s*=\s*(?:utf-8|iso-8859-1)''([^;]+)|filename\s*=\s*\"([^\"]+)\"|filename\s*=\s*([^;\s]+)",
    re.IGNORECASE,
)


class MoreIndexingFilter(IndexingFilter):
    """`date` is when the page says that it was changed, or else when it was fetched."""

    needs_headers = True
    properties = (MIME_PARTS,)

    def __init__(self, config: Config) -> None:
        self._parts = config[MIME_PARTS]

    def filter(self, document: IndexDocument, page: IndexablePage) -> IndexDocument:
        fields = document.fields
        modified = _modified(page)
        if modified is not None:
            fields["lastModified"] = iso_time(modified)
        fields["date"] = iso_time(page.fetch_time if modified is None else modified)
        length = page.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and len(length) < 18:
            fields["contentLength"] = int(length)
        if page.mime_type:
            main, _, sub = page.mime_type.partition("/")
            whole = [page.mime_type]
            fields["type"] = [*whole, *filter(None, (main, sub))] if self._parts else whole
        name = _FILE_NAME.search(page.headers.get("content-disposition", "")[:1000])
        if name is not None and not fields.get("title"):
            title = unquote(next(filter(None, name.groups())))
            fields["title"] = title.encode("utf-8", "replace").decode()
        return document


def _modified(page: IndexablePage) -> int | None:
    stated = page.headers.get("last-modified")
    if stated:
        try:
            return int(parsedate_to_datetime(stated).timestamp() * 1000)
        except (ValueError, TypeError, OverflowError, IndexError):
            pass
    return page.datum.modified_time or None
