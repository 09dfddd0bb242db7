"""Searches the folders of an embedded index together, in milliseconds and without Spark.

The collection of all folders gives its best candidates by words and links. Then the age counts too,
one page stands for those with nearly the same text, and no host fills the list.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import tantivy

from crawl.errors import CrawlError, StorageError, UsageError
from crawl.hints import index_anew
from crawl.search import schema as fields_of
from crawl.search.answers import FieldShare, Ranking, SearchAnswer, SearchHit, SearchOptions
from crawl.search.collapse import Candidate, Collapse
from crawl.search.collection import Collection
from crawl.search.corrections import Corrections
from crawl.search.languages import group_of
from crawl.search.query_plan import FieldForms, QueryPlan, field_query, plan_query
from crawl.search.query_text import ParsedQuery, parse_query
from crawl.search.ranking import Weights, log_of
from crawl.search.record import Record, stored_record
from crawl.search.snippets import Highlighter
from crawl.search.words import plain_form
from crawl.storage.file_sum import FileSum

MAX_RESULTS = 1_000
"""That can be asked for, those before the offset included."""

MAX_FACETS = 1_000
"""Hosts or languages that can be counted."""

_PANIC = "PanicException"
_RANKED_BY = (
    *(fields_of.SCORE, fields_of.DATED),
    *(fields_of.HOST_NUMBER, fields_of.TEXT_NUMBER, fields_of.SKETCH),
)
"""What is read of every candidate."""
_CANDIDATES = 100
_MAX_CANDIDATES = 20_000


class EmbeddedIndex:
    """The folders of one index, opened once and searched from any number of threads."""

    def __init__(
        self,
        folders: Iterable[str],
        weights: Weights | None = None,
        lists: Mapping[str, FileSum] | None = None,
    ) -> None:
        """`lists`: the sums of the lists of the folders' files, by the folders' names."""
        self._weights = weights or Weights()
        with _damage_reported():
            self._collection = Collection(folders, lists)

    @property
    def pages(self) -> int:
        """How many there are."""
        return self._collection.pages

    def search(self, query: str, now_ms: int, options: SearchOptions | None = None) -> SearchAnswer:
        """The best pages for a query; raises UsageError for one that cannot be meant."""
        options = options or SearchOptions()
        _check(options)
        begun = perf_counter()
        parsed = parse_query(query, now_ms)
        with _damage_reported():
            return self._search(query, parsed, now_ms, options, begun)

    def _search(
        self, query: str, parsed: ParsedQuery, now_ms: int, options: SearchOptions, begun: float
    ) -> SearchAnswer:
        plan = plan_query(parsed, self._collection, self._weights, typos=options.typos)
        sought = [word for word in plan.words if not word.is_excluded]
        if parsed.words and not plan.words and not parsed.restricts:
            return SearchAnswer(query, 0, (), perf_counter() - begun)
        least = None
        has_each_word = plan.most_matched == len(sought)
        choice = self._choose(plan, options, now_ms, None) if has_each_word else _Choice()
        if not choice.results and len(sought) > 1 and not choice.total:
            least = self._most_words(plan, len(sought))
            if least is not None:
                choice = self._choose(plan, options, now_ms, least)
        shown = choice.results[options.offset : options.offset + options.limit]
        highlighter = Highlighter(plan.words, options.snippet_length)
        hits = []
        for place, each in enumerate(shown, options.offset + 1):
            record = choice.record(each)
            hits.append(
                SearchHit(
                    place,
                    each.total,
                    record,
                    highlighter.mark(record.title, record.language),
                    highlighter.snippet(record.text, record.language),
                    each.duplicates,
                    self._ranking(each, plan) if options.explain else None,
                )
            )
        return SearchAnswer(
            query,
            choice.total,
            tuple(hits),
            perf_counter() - begun,
            tuple(plan.corrected),
            least is not None and choice.total > 0,
            self._facets(plan, options.facets, least) if options.facets else {},
            tuple(plan.uncorrected),
            self._did_you_mean(query, plan, choice.total if least is None else 0)
            if options.typos
            else "",
        )

    def _did_you_mean(self, query: str, plan: QueryPlan, pages: int) -> str:
        language = plan.parsed.language
        groups = [group_of(language)] if language else self._collection.groups
        corrections = Corrections(self._collection, groups)
        return corrections.corrected_query(plain_form(query), plan.words, pages)

    def _most_words(self, plan: QueryPlan, count: int) -> int | None:
        """How many of the words, at least a third and not all, some page has together; None where
        no page has so many. Pages with more words also have fewer: it is found by halving, for
        every look is one at all pages."""
        counts = range(max(1, count // 3), min(count - 1, plan.most_matched) + 1)
        end = bisect_left(counts, True, key=lambda least: not self._is_any(plan, least))
        return counts[end - 1] if end else None

    def _is_any(self, plan: QueryPlan, least: int) -> bool:
        query = plan.query(self._collection, self._weights, least)
        return bool(self._collection.searcher.search(query, 1, count=False).hits)

    def _choose(
        self, plan: QueryPlan, options: SearchOptions, now_ms: int, least: int | None
    ) -> _Choice:
        """The results up to the last that is asked for."""
        needed = options.offset + options.limit
        depth = max(_CANDIDATES, 3 * needed)
        per_host = 0 if plan.parsed.names_host else options.per_host
        query = plan.query(self._collection, self._weights, least)
        while True:
            candidates, total = self._candidates(query, depth, now_ms)
            collapse = Collapse(self._record, per_host=per_host, collapse=options.collapse)
            results = collapse.choose(candidates, needed)
            is_all = total <= len(candidates)
            if len(results) >= needed or is_all or depth >= _MAX_CANDIDATES:
                return _Choice(results, total, collapse)
            depth *= 10

    def _candidates(
        self, query: tantivy.Query, depth: int, now_ms: int
    ) -> tuple[list[Candidate], int]:
        weights, searcher = self._weights, self._collection.searcher
        # its type stubs do not know `count`
        result: Any = searcher.search(query, depth, weight_by_field=fields_of.SCORE)
        hits = result.hits
        addresses = [address for _, address in hits]
        columns: list[list[Any]] = [
            searcher.fast_field_values(name, addresses) for name in _RANKED_BY
        ]
        # many pages have the same score and date
        logs = {score: (log_of(score), weights.of_links(score)) for score in set(columns[0])}
        fresh = {dated: weights.of_freshness(dated, now_ms) for dated in set(columns[1])}
        candidates = [
            Candidate(
                address,
                weighted / logs[score][0],
                logs[score][1],
                fresh[dated],
                score,
                host,
                text,
                sketch,
            )
            for (weighted, address), score, dated, host, text, sketch in zip(
                hits, *columns, strict=True
            )
        ]
        # equal ranks have an order of their own, so that pages of results never overlap
        candidates.sort(key=lambda each: (-each.total, each.text, each.host))
        return candidates, result.count

    def _record(self, candidate: Candidate) -> Record:
        return stored_record(self._collection.searcher.doc(candidate.address))

    def _ranking(self, candidate: Candidate, plan: QueryPlan) -> Ranking:
        shares = []
        for text, tells, each, query in self._parts(plan):
            try:
                explained = query.explain(self._collection.searcher, candidate.address)
            except ValueError:
                continue  # not in this field of this page
            explanation = json.loads(explained.to_json())
            name = {"content": "text", fields_of.URL_WORDS: "url"}.get(each.field, each.field)
            shares.append(
                FieldShare(
                    text, name, explanation["value"], each.weight, tells, _frequency(explanation)
                )
            )
        return Ranking(
            candidate.words,
            candidate.links,
            candidate.freshness,
            candidate.page_score,
            tuple(shares),
        )

    def _parts(self, plan: QueryPlan) -> Iterator[tuple[str, float, FieldForms, tantivy.Query]]:
        """What adds to a page's words: each word in each field, and two that follow each other,
        which are told in quotes."""
        for word in plan.words:
            for each in () if word.is_excluded else word.fields:
                yield word.text, word.idf, each, field_query(word, each, self._collection)
        for near in plan.near:
            yield f'"{near.text}"', near.idf, near.beside, near.query(self._collection)

    def _facets(self, plan: QueryPlan, most: int, least: int | None) -> dict[str, dict[str, int]]:
        """The commonest hosts and languages of all pages that match."""
        asked = {
            name: {"terms": {"field": column, "size": 5 * most + 20}}
            for name, column in (("host", fields_of.HOST), ("language", fields_of.LANGUAGE))
        }
        counted: dict[str, Counter[str]] = {name: Counter() for name in asked}
        query = plan.query(self._collection, self._weights, least)
        answer = self._collection.searcher.aggregate(query, asked)
        for name, counts in counted.items():
            for bucket in answer[name]["buckets"]:
                counts[bucket["key"]] += bucket["doc_count"]
        return {
            name: dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])
            for name, counts in counted.items()
        }


@contextmanager
def _damage_reported() -> Iterator[None]:
    """Faults that tantivy meets with in its files are one line. Where they say what cannot be,
    it panics, which is no Exception."""
    try:
        yield
    except CrawlError:
        raise
    except BaseException as error:
        if not isinstance(error, ValueError | OSError) and type(error).__name__ != _PANIC:
            raise
        line = " ".join(str(error).split())
        raise StorageError(f"the index cannot be read: {line}: {index_anew()}") from error


@dataclass(frozen=True, slots=True)
class _Choice:
    results: Sequence[Candidate] = ()
    total: int = 0
    collapse: Collapse | None = None

    def record(self, candidate: Candidate) -> Record:
        assert self.collapse is not None, "nothing was chosen"
        return self.collapse.record(candidate)


def _check(options: SearchOptions) -> None:
    if options.limit < 1 or options.offset < 0:
        raise UsageError("the limit is 1 or more, and the offset 0 or more")
    if options.offset + options.limit > MAX_RESULTS:
        raise UsageError(f"no more than {MAX_RESULTS:,} results, those before the offset included")
    if not 0 <= options.facets <= MAX_FACETS:
        raise UsageError(f"facets: no more than {MAX_FACETS:,} hosts or languages are counted")


def _frequency(explanation: dict[str, Any]) -> float:
    """How often a field has the word, from tantivy's explanation."""
    if str(explanation.get("description", "")).startswith("freq, occurrences"):
        return float(explanation["value"])
    return max(map(_frequency, explanation.get("details") or ()), default=0.0)
