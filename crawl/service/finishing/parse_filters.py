"""The parse filters that the service has beside the configured ones."""

from __future__ import annotations

from crawl.config import Config
from crawl.parsing.settings import PARSEFILTER_ORDER
from crawl.service.settings import MARKDOWN_SIZE

_CARD = "card"
_MARKDOWN = "markdown"
_MARKDOWN_CLASS = "crawl.plugins.parsefilter.markdown:MarkdownParseFilter"


def with_parse_filters(config: Config) -> Config:
    """The configuration with the parse filters that make cards, and Markdown of the pages of which
    somebody wants it; as they are set where they are configured already."""
    active: tuple[str, ...] = config[PARSEFILTER_ORDER]
    added = [] if _CARD in active else [_CARD]
    values: dict[str, object] = {}
    if _MARKDOWN not in active and _MARKDOWN_CLASS not in active:
        added.append(_MARKDOWN_CLASS)
        values = {"markdown.size": config[MARKDOWN_SIZE], "markdown.every.page": False}
    return config.with_values({PARSEFILTER_ORDER.name: [*active, *added], **values}, "the service")
