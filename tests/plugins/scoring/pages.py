"""Pages and links for the tests of scoring filters."""

from __future__ import annotations

from crawl.interfaces.scoring import ScoringFilter, Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.status import Status

PLAIN = CrawlDatum(Status.LINKED, 5, fetch_interval=60)


def linked(score: float, **metadata: str) -> CrawlDatum:
    """A link as updatedb meets it."""
    return CrawlDatum(Status.LINKED, 5, score=score, metadata=metadata)


def shared(
    plugin: ScoringFilter,
    url: str,
    datum: CrawlDatum,
    links: list[str],
    all_count: int | None = None,
    text: str = "",
) -> list[Target]:
    """The links of a page after the scoring of its fetch and parse."""
    content = Content(url, b"", metadata=plugin.before_parse(url, datum))
    parse = plugin.after_parse(url, content, Parse(url, text=text))
    targets = [(link, plugin.initial_score(link, PLAIN)) for link in links]
    count = len(links) if all_count is None else all_count
    return list(plugin.distribute(parse, content, targets, count))
