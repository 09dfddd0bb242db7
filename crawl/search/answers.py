"""What a search returns: plain values, ready for a page or for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from crawl.search.record import Record
from crawl.search.snippets import Snippet


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What is asked for beside the query."""

    limit: int = 10
    offset: int = 0
    per_host: int = 2
    """Results of one host at most; 0: any number."""
    collapse: bool = True
    """Whether pages with nearly the same text are one result."""
    typos: bool = True
    facets: int = 0
    """How many hosts and languages are counted."""
    explain: bool = False
    snippet_length: int = 240


@dataclass(frozen=True, slots=True)
class FieldShare:
    """What one word in one field adds to a page's rank."""

    word: str
    field: str
    value: float
    weight: float
    idf: float
    frequency: float
    """How often the field has it; 0 where the match is not counted, as with typos."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Why a page ranks where it does."""

    words: float
    links: float
    freshness: float
    page_score: float
    shares: tuple[FieldShare, ...] = ()

    @property
    def total(self) -> float:
        return self.words * self.links * self.freshness

    def values(self) -> dict[str, Any]:
        return {
            "words": round(self.words, 6),
            "links": round(self.links, 6),
            "freshness": round(self.freshness, 6),
            "pageScore": self.page_score,
            "shares": [
                {**asdict(each), "value": round(each.value, 6), "idf": round(each.idf, 6)}
                for each in self.shares
            ],
        }


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One page that was found."""

    place: int
    score: float
    record: Record
    title: Snippet
    snippet: Snippet
    duplicates: int
    """Pages with nearly the same text that it stands for, as far as they were seen."""
    ranking: Ranking | None = None

    def values(self) -> dict[str, Any]:
        record = self.record
        values = {
            "rank": self.place,
            "score": round(self.score, 6),
            "url": record.url,
            "title": self.title.text,
            "titleHighlights": [list(each) for each in self.title.highlights],
            "snippet": self.snippet.text,
            "highlights": [list(each) for each in self.snippet.highlights],
            "host": record.host,
            "domain": record.domain,
            "language": record.language,
            "type": record.type,
            "fetched": moment_text(record.fetched_ms),
            "modified": moment_text(record.modified_ms),
            "duplicates": self.duplicates,
            "fields": record.extra,
        }
        if self.ranking is not None:
            values["explanation"] = self.ranking.values()
        return values


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Pages that were found, best first."""

    query: str
    total: int
    """Pages that match, those that are not shown included."""
    hits: tuple[SearchHit, ...]
    seconds: float
    corrected: tuple[str, ...] = ()
    """Words of the query that no page has as they are, and that were found with typos."""
    is_relaxed: bool = False
    """No page has all words, and these have most of them."""
    facets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    uncorrected: tuple[str, ...] = ()
    """Words that no page has, and that are too many to be looked for with typos."""
    did_you_mean: str = ""
    """The query with the words that were probably meant; empty where it seems to be right."""

    def values(self) -> dict[str, Any]:
        """All of it as dictionaries, lists, texts and numbers."""
        return {
            "query": self.query,
            "total": self.total,
            "seconds": round(self.seconds, 6),
            "corrected": list(self.corrected),
            "uncorrected": list(self.uncorrected),
            "didYouMean": self.did_you_mean,
            "relaxed": self.is_relaxed,
            "results": [hit.values() for hit in self.hits],
            "facets": {name: dict(counts) for name, counts in self.facets.items()},
        }


def moment_text(moment_ms: int) -> str | None:
    """A moment in ISO's form; None where it is unknown, or not one."""
    if not moment_ms:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=moment_ms)
    except OverflowError:
        return None
    return moment.isoformat(timespec="seconds")
