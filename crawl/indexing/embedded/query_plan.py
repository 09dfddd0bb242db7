"""From a query's words to tantivy's queries.

A word is cut as every group of languages cuts it, and looked for in that group's fields. How
much it tells (idf) is counted over all folders and languages of the index, so that a page ranks
the same in whichever folder it lies. A word that no page contains is looked for with a typo or
two (typos.py); one that is on most pages ranks, but need not be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import tantivy

from crawl.indexing.embedded import schema as fields_of
from crawl.indexing.embedded.languages import GROUPS, group_of
from crawl.indexing.embedded.query_text import EXTRA_PREFIX, FilterClause, ParsedQuery, WordClause
from crawl.indexing.embedded.ranking import Weights, idf
from crawl.indexing.embedded.record import url_words
from crawl.indexing.embedded.schema import TEXT_KINDS, URL_WORDS, analyzer, field_of, schema
from crawl.indexing.embedded.typos import TypoSearch, fuzzy_query
from crawl.indexing.embedded.words import UNSPACED_RUN, spaced

_MOST_TOKENS = 64
"""Of all words of a query together."""
_COMMON = 0.3
"""The share of pages from which on a word need not be there."""
_EVERYWHERE = 200
"""Pages below which no word is common."""
_MOST_PREFIXED = 200
"""Pairs that a query of a single character stands for."""
_NEAR = 2
"""Words between the words of a query that still stand beside each other."""


_K1, _B = 1.2, 0.75
"""tantivy's BM25."""


@dataclass(frozen=True, slots=True)
class FieldTokens:
    """What is looked for in one field."""

    field: str
    tokens: tuple[str, ...]
    weight: float


@dataclass(slots=True)
class Word:
    """One word or phrase of a query, in every field that has it."""

    text: str
    fields: list[FieldTokens]
    is_excluded: bool = False
    is_prefix: bool = False
    """A single character of a script whose words are pairs of them."""
    idf: float = 0.0
    pages: int = 0
    """That contain it, at most: counted by field."""
    typos: int = 0
    """How many letters may differ, for no page contains the word as it is."""
    is_left: bool = False
    """Whether no page contains it, and looking for it with typos would have cost too much."""
    is_common: bool = False


@dataclass(slots=True)
class QueryPlan:
    """A query against certain folders."""

    parsed: ParsedQuery
    words: list[Word]
    near: list[FieldTokens] = field(default_factory=list)

    @property
    def corrected(self) -> list[str]:
        """The words that were found with typos."""
        return [word.text for word in self.words if word.typos]

    @property
    def uncorrected(self) -> list[str]:
        """The words that were not looked for with typos, for there are too many of them."""
        return [word.text for word in self.words if word.is_left]

    @property
    def most_matched(self) -> int:
        """How many of the words that are looked for a page may have: others are on none."""
        return sum(bool(word.fields) for word in self.words if not word.is_excluded)

    def query(
        self, searcher: tantivy.Searcher, weights: Weights, least: int | None = None
    ) -> tantivy.Query:
        """The query for one folder. `least`: how many of the words suffice; None: all."""
        musts: list[tuple[tantivy.Occur, tantivy.Query]] = []
        shoulds: list[tantivy.Query] = []
        for word in self.words:
            wanted = self.word_query(word, searcher, weights)
            if word.is_excluded:
                musts.append((tantivy.Occur.MustNot, wanted))
            elif word.is_common or least is not None:
                shoulds.append(wanted)
            else:
                musts.append((tantivy.Occur.Must, wanted))
        if least is not None:
            some = tantivy.Query.boolean_query(
                [(tantivy.Occur.Should, each) for each in shoulds],
                minimum_number_should_match=least,
            )
            musts.append((tantivy.Occur.Must, some))
            shoulds = []
        for tokens in self.near:
            beside = _tokens_query(tokens, _NEAR)
            boost = tokens.weight * _sparse_correction(tokens.field, searcher)
            shoulds.append(tantivy.Query.boost_query(beside, boost))
        musts += [(tantivy.Occur.Should, each) for each in shoulds]
        musts += _filters(self.parsed)
        if not any(not word.is_excluded for word in self.words):
            musts.append((tantivy.Occur.Must, tantivy.Query.all_query()))
            return tantivy.Query.const_score_query(tantivy.Query.boolean_query(musts), 1.0)
        return tantivy.Query.boolean_query(musts)

    def word_query(self, word: Word, searcher: tantivy.Searcher, weights: Weights) -> tantivy.Query:
        """Pages with the word in any of its fields: by the best, and a share of the others."""
        found = [field_query(word, each, searcher) for each in word.fields]
        if not found:
            return tantivy.Query.empty_query()
        if len(found) == 1:
            return found[0]
        return tantivy.Query.disjunction_max_query(found, weights.other_fields)


def plan_query(
    parsed: ParsedQuery,
    searchers: Sequence[tantivy.Searcher],
    present: frozenset[str],
    weights: Weights,
    *,
    typos: bool,
) -> QueryPlan:
    """How the words are looked for in these folders, whose `fields_present` these are."""
    pages = sum(searcher.num_docs for searcher in searchers)
    found = {name.partition("_")[2] for name in present}
    groups = [group_of(parsed.language)] if parsed.language else sorted(found - {""})
    words: list[Word] = []
    typo_search = TypoSearch(searchers) if typos else None
    room = _MOST_TOKENS
    for clause in parsed.words:
        for text, is_phrase in _pieces(clause):
            word = _word(text, is_phrase, clause, groups, present, weights)
            most = max((len(each.tokens) for each in word.fields), default=0)
            if not most and not _cut(spaced(text), "plain"):
                continue  # punctuation
            room -= most
            if room < 0:
                break
            _count(word, searchers, pages, typo_search)
            words.append(word)
    counted = [word for word in words if not word.is_excluded]
    if len(counted) > 1 and all(word.is_common for word in counted):
        min(counted, key=lambda word: word.pages).is_common = False
    elif len(counted) == 1:
        counted[0].is_common = False
    return QueryPlan(parsed, words, _near(parsed, words, weights))


def field_query(word: Word, each: FieldTokens, searcher: tantivy.Searcher) -> tantivy.Query:
    """Pages of one folder with the word in one field, scored as over all folders."""
    if word.typos:
        fuzzy = fuzzy_query(each.field, each.tokens[0], word.typos)
        return tantivy.Query.boost_query(fuzzy, each.weight * word.idf)
    if word.is_prefix:
        terms = _terms_from(each, searcher, _MOST_PREFIXED)
        pairs = tantivy.Query.term_set_query(schema(), each.field, terms)
        return tantivy.Query.boost_query(pairs, each.weight * word.idf)
    here = sum(idf(searcher.num_docs, searcher.doc_freq(each.field, t)) for t in each.tokens)
    boost = each.weight * (word.idf / here if here > 0 else 1.0)
    boost *= _sparse_correction(each.field, searcher)
    return tantivy.Query.boost_query(_tokens_query(each), boost)


def _tokens_query(each: FieldTokens, slop: int = 0) -> tantivy.Query:
    if len(each.tokens) == 1:
        return tantivy.Query.term_query(schema(), each.field, each.tokens[0])
    words: list[str | tuple[int, str]] = list(each.tokens)
    return tantivy.Query.phrase_query(schema(), each.field, words, slop)


def _terms_from(each: FieldTokens, searcher: tantivy.Searcher, most: int) -> list[str]:
    """The terms of a field that begin with a character."""
    return [term for term, _ in searcher.terms_with_prefix(each.field, each.tokens[0], limit=most)]


def fields_present(searchers: Sequence[tantivy.Searcher]) -> frozenset[str]:
    """The fields for words that any page of these folders has."""
    names = [field_of(kind, group) for kind in TEXT_KINDS for group in GROUPS]
    return frozenset(
        {URL_WORDS}
        | {name for name in names if any(s.doc_freq(fields_of.HAS, name) for s in searchers)}
    )


def _sparse_correction(field: str, searcher: tantivy.Searcher) -> float:
    """What makes good that tantivy takes pages without a field for very short ones: by its
    average, a German page among a thousand English ones would be a thousand times too long."""
    having = searcher.num_docs if field == URL_WORDS else searcher.doc_freq(fields_of.HAS, field)
    if not having:
        return 1.0
    too_long = max(1.0, searcher.num_docs / having)
    return (1.0 + _K1 * (1.0 - _B + _B * too_long)) / (1.0 + _K1)


def _pieces(clause: WordClause) -> list[tuple[str, bool]]:
    """A clause as words: a run of characters without spaces, unless quoted, as its pairs."""
    if clause.is_phrase or clause.text.isascii():
        return [(clause.text, True)]
    found: list[tuple[str, bool]] = []
    for part in spaced(clause.text).split():
        # the single character at a run's end repeats what the pair before it says
        if len(part) == 1 and found and UNSPACED_RUN.fullmatch(part) and found[-1][0][-1:] == part:
            continue
        found.append((part, False))
    return found


def _word(
    text: str,
    is_phrase: bool,
    clause: WordClause,
    groups: Sequence[str],
    present: frozenset[str],
    weights: Weights,
) -> Word:
    fields = []
    cut = spaced(text) if is_phrase else text
    is_prefix = len(text) == 1 and UNSPACED_RUN.fullmatch(text) is not None
    for group in groups:
        tokens = _cut(cut, group)
        for kind, weight in weights.of_kinds.items() if tokens else ():
            name = field_of(kind, group)
            if name in present and (not clause.kinds or kind in clause.kinds):
                fields.append(FieldTokens(name, tokens, weight))
    if not clause.kinds or "url" in clause.kinds:
        # a whole address too, as it is copied from a browser
        tokens = _cut(url_words(text) if is_phrase else cut, "plain")
        if tokens:
            fields.append(FieldTokens(URL_WORDS, tokens, weights.url))
    return Word(text, fields, clause.is_excluded, is_prefix)


def _cut(text: str, group: str) -> tuple[str, ...]:
    tokens = analyzer(group).analyze(text)
    last = tokens[-1] if len(tokens) > 1 else ""
    if len(last) == 1 and UNSPACED_RUN.fullmatch(last) and tokens[-2].endswith(last):
        tokens = tokens[:-1]  # in the page a run may go on
    return tuple(tokens)


def _count(
    word: Word,
    searchers: Sequence[tantivy.Searcher],
    pages: int,
    typo_search: TypoSearch | None,
) -> None:
    """Finds out how many pages have the word, and leaves out fields without it."""
    if word.is_prefix:
        word.idf = 1.0
        word.fields = [
            each
            for each in word.fields
            if any(_terms_from(each, searcher, 1) for searcher in searchers)
        ]
        return
    counts: dict[tuple[str, int], int] = {}
    kept = []
    for each in word.fields:
        found = [
            sum(searcher.doc_freq(each.field, token) for searcher in searchers)
            for token in each.tokens
        ]
        if not all(found):
            continue
        kept.append(each)
        kind = each.field.partition("_")[0]
        for place, with_token in enumerate(found):
            counts[kind, place] = counts.get((kind, place), 0) + with_token
    if kept:
        by_place: dict[int, int] = {}
        for (_, place), count in counts.items():
            by_place[place] = max(count, by_place.get(place, 0))
        word.fields = kept
        word.pages = min(by_place.values())
        word.idf = sum(idf(pages, count) for count in by_place.values())
        word.is_common = word.pages >= max(_EVERYWHERE, pages * _COMMON)
        return
    tokens, word.fields = word.fields, []
    if typo_search is None or word.is_excluded or not all(len(each.tokens) == 1 for each in tokens):
        return
    found_with = typo_search.look_up({each.field: each.tokens[0] for each in tokens})
    word.is_left = found_with is None
    if found_with is not None and found_with.fields:
        word.typos, word.idf = found_with.typos, 1.0
        word.fields = [each for each in tokens if each.field in found_with.fields]


def _near(parsed: ParsedQuery, words: list[Word], weights: Weights) -> list[FieldTokens]:
    """The query's words beside each other, in the fields that have all of them."""
    wanted = [word for word in words if not word.is_excluded]
    if not weights.phrase or not 2 <= len(wanted) <= 6 or any(w.typos for w in wanted):
        return []
    if any(clause.kinds or clause.is_phrase for clause in parsed.words):
        return []
    by_field: dict[str, list[FieldTokens]] = {}
    for word in wanted:
        for each in word.fields:
            by_field.setdefault(each.field, []).append(each)
    return [
        FieldTokens(
            name,
            tuple(token for each in found for token in each.tokens),
            found[0].weight * weights.phrase,
        )
        for name, found in by_field.items()
        if len(found) == len(wanted) and not name.startswith("anchor")
    ]


def _filters(parsed: ParsedQuery) -> list[tuple[tantivy.Occur, tantivy.Query]]:
    """The conditions on fields; several values of one field are alternatives."""
    found: list[tuple[tantivy.Occur, tantivy.Query]] = []
    wanted: dict[str, list[tantivy.Query]] = {}
    for clause in parsed.filters:
        if clause.is_excluded:
            found.append((tantivy.Occur.MustNot, _filter(clause)))
        else:
            wanted.setdefault(clause.field, []).append(_filter(clause))
    for queries in wanted.values():
        either = tantivy.Query.boolean_query([(tantivy.Occur.Should, q) for q in queries])
        found.append((tantivy.Occur.Must, tantivy.Query.const_score_query(either, 0.0)))
    if parsed.since_ms is not None or parsed.until_ms is not None:
        dated = tantivy.Query.range_query(
            schema(),
            fields_of.DATED,
            tantivy.FieldType.Integer,
            lower_bound=_bounded(parsed.since_ms),
            upper_bound=_bounded(parsed.until_ms),
        )
        found.append((tantivy.Occur.Must, tantivy.Query.const_score_query(dated, 0.0)))
    return found


def _filter(clause: FilterClause) -> tantivy.Query:
    if clause.field.startswith(EXTRA_PREFIX):
        name = f"{fields_of.EXTRA}.{clause.field[len(EXTRA_PREFIX) :]}"
        return tantivy.Query.term_query(schema(), name, clause.value)
    if clause.field == "host":
        # a host and those below it, as people mean it, are its domain; here it is this one
        hosts = [clause.value, f"www.{clause.value}"]
        return tantivy.Query.term_set_query(schema(), fields_of.HOST, hosts)
    if clause.field == "domain":
        either = [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema(), name, clause.value))
            for name in (fields_of.DOMAIN, fields_of.HOST)
        ]
        return tantivy.Query.boolean_query(either)
    if clause.field == "lang":
        return tantivy.Query.term_query(schema(), fields_of.LANGUAGE, clause.value)
    return tantivy.Query.term_query(schema(), fields_of.TYPE, clause.value)


def _bounded(moment_ms: int | None) -> int | None:
    return None if moment_ms is None else max(-(1 << 62), min(1 << 62, moment_ms))
