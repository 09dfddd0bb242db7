"""How the service parses, beside what is configured: its own parse filters, and pages that were cut
as far as they go."""

from __future__ import annotations

from crawl.config import Config
from crawl.config.config import DEFAULT_ORIGIN
from crawl.parsing.settings import PARSEFILTER_ORDER, PARSER_SKIP_TRUNCATED
from crawl.service.settings import MARKDOWN_SIZE

_CARD = "card"
_MARKDOWN = "markdown"
_MARKDOWN_CLASS = "crawl.plugins.parsefilter.markdown:MarkdownParseFilter"


def with_parse_filters(config: Config) -> Config:
    """The configuration with the parse filters that make cards, and Markdown of the pages of which
    somebody wants it; as they are set where they are configured already. Pages whose body is not
    whole are parsed as far as they go, unless `parser.skip.truncated` is set: whoever waits for one
    of 2 MB wants its title, and is told that the rest is missing."""
    active: tuple[str, ...] = config[PARSEFILTER_ORDER]
    added = [] if _CARD in active else [_CARD]
    values: dict[str, object] = {}
    if _MARKDOWN not in active and _MARKDOWN_CLASS not in active:
        added.append(_MARKDOWN_CLASS)
        values = {"markdown.size": config[MARKDOWN_SIZE], "markdown.every.page": False}
    if config.origin(PARSER_SKIP_TRUNCATED) == DEFAULT_ORIGIN:
        values[PARSER_SKIP_TRUNCATED.name] = False
    return config.with_values({PARSEFILTER_ORDER.name: [*active, *added], **values}, "the service")
