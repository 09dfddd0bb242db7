"""metadata: what a seed says of itself can travel to all that is found from it.

Three lists of keys, one for each step: from the record to the content (`scoring.db.md`),
from the content or its headers to the parse (`scoring.content.md`), and from the parse to
the records of links (`scoring.parse.md`). A key that is to go all the way stands in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from crawl.config import Config, string_list
from crawl.interfaces.scoring import ScoringFilter, Target
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.plugins.scoring.inheritance import with_metadata

DB_KEYS = string_list("scoring.db.md", (), "Metadata keys that a fetched page's content keeps.")
CONTENT_KEYS = string_list(
    "scoring.content.md",
    (),
    "Keys of a content's metadata, or names of its headers, that its parse keeps.",
)
PARSE_KEYS = string_list(
    "scoring.parse.md", (), "Keys of a parse's metadata that its links inherit."
)


class MetadataScoring(ScoringFilter):
    """Scores nothing: it carries."""

    def __init__(self, config: Config) -> None:
        self._db_keys = config[DB_KEYS]
        self._content_keys = config[CONTENT_KEYS]
        self._parse_keys = config[PARSE_KEYS]

    def before_parse(self, url: str, datum: CrawlDatum) -> Mapping[str, str]:
        return _entries_of(datum.metadata, self._db_keys)

    def after_parse(self, url: str, content: Content, parse: Parse) -> Parse:
        entries = {
            key: content.headers[key.lower()]
            for key in self._content_keys
            if key.lower() in content.headers
        }
        entries.update(_entries_of(content.metadata, self._content_keys))
        return replace(parse, metadata={**parse.metadata, **entries}) if entries else parse

    def distribute(
        self, parse: Parse, content: Content, targets: Sequence[Target], all_count: int
    ) -> Sequence[Target]:
        return with_metadata(targets, _entries_of(parse.metadata, self._parse_keys))


def _entries_of(metadata: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    return {key: metadata[key] for key in keys if key in metadata}
