"""parsefilter metatags: chosen meta tags of a page as metadata `metatag.<name>`."""

from __future__ import annotations

from dataclasses import replace

from crawl.config import Config, string_list
from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.model.parse import Parse
from crawl.parsing.html.scan import HTML_TYPES, scan_markup
from crawl.parsing.text.plain import MAX_VALUE

NAMES = string_list(
    "metatags.names",
    ("description", "keywords"),
    "Meta tags that are kept as metadata metatag.<name>; * for all of them.",
)

_MAX_NAMES = 200
_SEPARATOR = ", "


class MetatagsParseFilter(ParseFilter):
    """What several tags of one name say stands in one value."""

    def __init__(self, config: Config) -> None:
        self._names = {name.lower() for name in config[NAMES]}

    def filter(self, page: Page, parse: Parse) -> Parse:
        # what is inside a page is not what its tags are about
        if page.mime_type not in HTML_TYPES or parse.url != page.url:
            return parse
        values: dict[str, str] = {}
        for name, content in scan_markup(page.markup).metas:
            key = f"metatag.{name}"
            if key in values:
                values[key] = (values[key] + _SEPARATOR + content)[:MAX_VALUE]
            elif not self._names.isdisjoint(("*", name)) and len(values) < _MAX_NAMES:
                values[key] = content
        return replace(parse, metadata={**parse.metadata, **values}) if values else parse
