"""urlnormalizer: one spelling for URLs that mean the same page."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from crawl.config import Config


class Scope(StrEnum):
    """Where in the crawl a URL is being normalised; each may have an order of its own."""

    DEFAULT = "default"
    PARTITION = "partition"
    GENERATE_HOST_COUNT = "generate_host_count"
    FETCHER = "fetcher"
    CRAWLDB = "crawldb"
    LINKDB = "linkdb"
    INJECT = "inject"
    OUTLINK = "outlink"
    INDEXER = "indexer"


class URLNormalizer(Protocol):
    """One rewriting of URLs. Normalizers form a chain, each given its predecessor's word."""

    def __init__(self, config: Config) -> None:
        """Reads its rules; raises ConfigError with the file and line of a bad rule."""

    def normalize(self, url: str, scope: Scope) -> str | None:
        """The URL in normal form, or None where the text cannot be a URL at all.

        Must be idempotent, a pure function of its arguments, and must not raise on any
        text.
        """
        ...

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        """For a whole string column: true where `normalize` surely returns its argument.

        Returns a boolean array of the same length (false: ask `normalize`), or None
        where the plugin has no quick answer for any row.
        """
        return None
