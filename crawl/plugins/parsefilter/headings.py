"""parsefilter headings: the headings of a page as metadata `h1`, `h2` …"""

from __future__ import annotations

from dataclasses import replace

from crawl.config import Config, boolean, string_list
from crawl.errors import ConfigError
from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.model.parse import Parse
from crawl.parsing.html.scan import HTML_TYPES, scan_markup
from crawl.parsing.text.plain import MAX_VALUE

HEADINGS = string_list(
    "headings", ("h1", "h2"), "The headings that are kept as metadata of that name."
)
MULTIVALUED = boolean(
    "headings.multivalued", False, "Keep all headings of a level, one a line, instead of the first."
)

_LEVELS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


class HeadingsParseFilter(ParseFilter):
    """The first heading of each level, or all of them."""

    def __init__(self, config: Config) -> None:
        self._levels = {level.lower() for level in config[HEADINGS]}
        self._several = config[MULTIVALUED]
        unknown = sorted(self._levels - _LEVELS)
        if unknown:
            raise ConfigError(f"{HEADINGS.name}: expected h1 to h6, got {unknown[0]!r}")

    def filter(self, page: Page, parse: Parse) -> Parse:
        # what is inside a page is not what its headings are about
        if page.mime_type not in HTML_TYPES or parse.url != page.url:
            return parse
        headings: dict[str, str] = {}
        for level, text in scan_markup(page.markup).headings:
            if level not in self._levels:
                continue
            if level not in headings:
                headings[level] = text
            elif self._several:
                headings[level] = (headings[level] + "\n" + text)[:MAX_VALUE]
        return replace(parse, metadata={**parse.metadata, **headings}) if headings else parse
