"""The other configured parsers, for what lies inside an archive."""

from __future__ import annotations

from collections.abc import Sequence

from crawl.config import Config
from crawl.errors import CrawlError
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.interfaces.registry import resolve
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.parsing.settings import PARSER_DEFAULT_CHARSET, PLUGIN_PARSER
from crawl.parsing.text.charset import charset_of, default_codec

_SUFFIXES = {"+xml": "application/xml", "+json": "application/json"}


class InnerParsers:
    """Those that read a type by its name, or any text; archives inside archives are not
    opened, and what only `*/*` would read is left alone."""

    def __init__(self, config: Config, without: type) -> None:
        self._config = config
        self._without = without
        self._default = default_codec(config[PARSER_DEFAULT_CHARSET])
        self._built: list[Parser] | None = None

    def can_read(self, mime: str) -> bool:
        return bool(self._for(mime))

    def parse(self, content: Content, mime: str) -> Sequence[Parse] | None:
        """What the first of them makes of it that can read it, or else what the last one says
        is wrong with it. They are as safe as the caller's; one that raises has nothing to
        say."""
        page = Page(content, mime, charset_of(content.body, content.content_type, self._default))
        answer: Sequence[Parse] | None = None
        for parser in self._for(mime):
            try:
                parses = parser.parse(page)
            except Exception:
                continue
            if parses:
                answer = parses
                if parses[0].status.is_success:
                    break
        return answer

    def _for(self, mime: str) -> list[Parser]:
        kinds = [mime, *(plain for end, plain in _SUFFIXES.items() if mime.endswith(end))]
        if mime.startswith("text/"):
            kinds.append("text/*")
        return [
            parser
            for kind in dict.fromkeys(kinds)
            for parser in self._parsers()
            if kind in parser.mime_types and not isinstance(parser, self._without)
        ]

    def _parsers(self) -> list[Parser]:
        """Built when the first archive comes: most crawls see none. A name that cannot be
        resolved here (entry points do not travel) is passed over."""
        if self._built is None:
            self._built = []
            for name in self._config[PLUGIN_PARSER]:
                try:
                    plugin = resolve("parser", [name])[0]
                    if plugin.load() is not self._without:
                        self._built.append(plugin.build(self._config))
                except CrawlError:
                    continue
        return self._built
