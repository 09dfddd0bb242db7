"""From a query's words to tantivy's queries.

A word is cut as every language of the index cuts it: these are its forms, often one. All are looked
for in every field, which has the words of all languages (schema.py). How much a word tells (idf) is
counted over all pages, folders and languages: a page that has it in one form is worth what a page
is that has it in another. A word that no page contains is looked for with a typo or two (typos.py);
one that is on most pages ranks, but need not be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

import tantivy

from crawl.errors import UsageError
from crawl.search.collection import Collection
from crawl.search.languages import group_of
from crawl.search.query_filters import filter_queries
from crawl.search.query_text import ParsedQuery, WordClause
from crawl.search.ranking import Weights, idf
from crawl.search.record import url_words
from crawl.search.schema import URL_WORDS, analyzer, schema
from crawl.search.typos import TypoSearch, fuzzy_query
from crawl.search.words import UNSPACED_RUN, spaced

_MAX_TOKENS = 64
"""Of all words of a query together."""
_COMMON = 0.3
"""The share of pages from which on a word need not be there."""
_EVERYWHERE = 200
"""Pages below which no word is common."""
_MAX_PREFIXED = 200
"""Pairs that a query of a single character stands for."""

Form = tuple[str, ...]
"""A word as a language has it; several tokens of a phrase."""


@dataclass(frozen=True, slots=True)
class FieldForms:
    """What is looked for in one field."""

    field: str
    forms: tuple[Form, ...]
    weight: float


@dataclass(slots=True)
class Word:
    """One word or phrase of a query, in every field that has it."""

    text: str
    fields: list[FieldForms]
    cuts: Mapping[str, Form] = field(default_factory=dict)
    """Its form in each group of languages, and in URLs."""
    is_excluded: bool = False
    is_prefix: bool = False
    """A single character of a script whose words are pairs of them."""
    idf: float = 0.0
    pages: int = 0
    """That contain it, at most: counted by form."""
    typos: int = 0
    """How many letters may differ, for no page contains the word as it is."""
    is_left: bool = False
    """Whether no page contains it, and looking for it with typos would have cost too much."""
    is_common: bool = False

    @property
    def tokens(self) -> set[str]:
        return {token for each in self.fields for form in each.forms for token in form}


@dataclass(frozen=True, slots=True)
class NearWords:
    """Two words of a query, one right behind the other in one field. More words, or some between
    them, would be counted by tantivy in an order that depends on the folder of a page."""

    text: str
    beside: FieldForms
    idf: float

    def query(self, collection: Collection) -> tantivy.Query:
        return _best_of(
            [_scored(self.idf, self.beside, form, collection) for form in self.beside.forms]
        )


@dataclass(slots=True)
class QueryPlan:
    """A query against a collection."""

    parsed: ParsedQuery
    words: list[Word]
    near: list[NearWords] = field(default_factory=list)

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
        self, collection: Collection, weights: Weights, least: int | None = None
    ) -> tantivy.Query:
        """The query. `least`: how many of the words suffice; None: all."""
        musts: list[tuple[tantivy.Occur, tantivy.Query]] = []
        shoulds: list[tantivy.Query] = []
        for word in self.words:
            pages = word_query(word, collection, weights)
            if word.is_excluded:
                musts.append((tantivy.Occur.MustNot, pages))
            elif word.is_common or least is not None:
                shoulds.append(pages)
            else:
                musts.append((tantivy.Occur.Must, pages))
        if least is not None:
            some = tantivy.Query.boolean_query(
                [(tantivy.Occur.Should, each) for each in shoulds],
                minimum_number_should_match=least,
            )
            musts.append((tantivy.Occur.Must, some))
            shoulds = []
        shoulds += [each.query(collection) for each in self.near]
        musts += [(tantivy.Occur.Should, each) for each in shoulds]
        musts += filter_queries(self.parsed)
        if not any(not word.is_excluded for word in self.words):
            musts.append((tantivy.Occur.Must, tantivy.Query.all_query()))
            return tantivy.Query.const_score_query(tantivy.Query.boolean_query(musts), 1.0)
        return tantivy.Query.boolean_query(musts)


def word_query(word: Word, collection: Collection, weights: Weights) -> tantivy.Query:
    """Pages with the word in any of its fields: by the best, and a share of the others."""
    queries = [field_query(word, each, collection) for each in word.fields]
    return _best_of(queries, weights.other_fields) if queries else tantivy.Query.empty_query()


def field_query(word: Word, each: FieldForms, collection: Collection) -> tantivy.Query:
    """Pages with the word in one field, by the form that counts most there."""
    if word.typos:
        like = [fuzzy_query(each.field, form[0], word.typos) for form in each.forms]
        return tantivy.Query.boost_query(_best_of(like), each.weight * word.idf)
    if word.is_prefix:
        terms = _terms_from(each, collection, _MAX_PREFIXED)
        pairs = tantivy.Query.term_set_query(schema(), each.field, terms)
        return tantivy.Query.boost_query(pairs, each.weight * word.idf)
    return _best_of([_scored(word.idf, each, form, collection) for form in each.forms])


def _scored(tells: float, each: FieldForms, form: Form, collection: Collection) -> tantivy.Query:
    """tantivy's BM25, which counts by field and form how much a word tells, with the word's idf
    in place of its own."""
    pages = collection.counted_pages
    own = sum(idf(pages, collection.pages_with(each.field, token)) for token in form)
    boost = each.weight * (tells / own if own > 0 else 1.0)
    return tantivy.Query.boost_query(_form_query(each.field, form), boost)


def _best_of(queries: list[tantivy.Query], others: float = 0.0) -> tantivy.Query:
    """By the best, and a share of the others."""
    if len(queries) == 1:
        return queries[0]
    return tantivy.Query.disjunction_max_query(queries, others)


def _form_query(name: str, form: Form) -> tantivy.Query:
    if len(form) == 1:
        return tantivy.Query.term_query(schema(), name, form[0])
    words: list[str | tuple[int, str]] = list(form)
    return tantivy.Query.phrase_query(schema(), name, words)


def _terms_from(each: FieldForms, collection: Collection, most: int) -> list[str]:
    """The terms of a field that begin with a character."""
    begun = each.forms[0][0]
    return [t for t, _ in collection.searcher.terms_with_prefix(each.field, begun, limit=most)]


def plan_query(
    parsed: ParsedQuery, collection: Collection, weights: Weights, *, typos: bool
) -> QueryPlan:
    """How the words are looked for in a collection."""
    groups = [group_of(parsed.language)] if parsed.language else collection.groups
    words: list[Word] = []
    typo_search = TypoSearch(collection) if typos else None
    room = _MAX_TOKENS
    for clause in parsed.words:
        for text, is_phrase in _pieces(clause):
            word = _word(text, is_phrase, clause, groups, weights)
            most = max((len(form) for each in word.fields for form in each.forms), default=0)
            if not most and not cut_word(spaced(text), "plain"):
                continue  # punctuation
            room -= most
            if room < 0:
                if is_phrase:
                    raise UsageError(
                        f"the query has more than {_MAX_TOKENS} words, those in quotes included"
                    )
                break  # pairs of a text without blanks: the first find it
            asked = word.fields
            count_word(word, collection)
            if not word.fields and typo_search is not None and not word.is_excluded:
                _look_for_typos(word, asked, typo_search)
            words.append(word)
    counted = [word for word in words if not word.is_excluded]
    if len(counted) > 1 and all(word.is_common for word in counted):
        min(counted, key=lambda word: word.pages).is_common = False
    elif len(counted) == 1:
        counted[0].is_common = False
    return QueryPlan(parsed, words, _near(parsed, words, weights))


def _pieces(clause: WordClause) -> list[tuple[str, bool]]:
    """A clause as words: a run of characters without spaces, unless quoted, as its pairs."""
    if clause.is_phrase or clause.text.isascii():
        return [(clause.text, True)]
    pieces: list[tuple[str, bool]] = []
    for part in spaced(clause.text).split():
        # the single character at a run's end repeats what the pair before it says
        if (
            len(part) == 1
            and pieces
            and UNSPACED_RUN.fullmatch(part)
            and pieces[-1][0][-1:] == part
        ):
            continue
        pieces.append((part, False))
    return pieces


def _word(
    text: str, is_phrase: bool, clause: WordClause, groups: Iterable[str], weights: Weights
) -> Word:
    cut = spaced(text) if is_phrase else text
    is_prefix = len(text) == 1 and UNSPACED_RUN.fullmatch(text) is not None
    cuts = {group: form for group in groups if (form := cut_word(cut, group))}
    forms = tuple(dict.fromkeys(cuts.values()))
    fields = []
    for kind, weight in weights.of_kinds.items() if forms else ():
        if not clause.kinds or kind in clause.kinds:
            fields.append(FieldForms(kind, forms, weight))
    if not clause.kinds or "url" in clause.kinds:
        # a whole address too, as it is copied from a browser
        plain = cut_word(url_words(text) if is_phrase else cut, "plain")
        if plain:
            fields.append(FieldForms(URL_WORDS, (plain,), weights.url))
            cuts["plain"] = plain
    return Word(text, fields, cuts, clause.is_excluded, is_prefix)


def cut_word(text: str, group: str) -> Form:
    """A word or phrase as the pages of a group of languages have it."""
    tokens = analyzer(group).analyze(text)
    last = tokens[-1] if len(tokens) > 1 else ""
    if len(last) == 1 and UNSPACED_RUN.fullmatch(last) and tokens[-2].endswith(last):
        tokens = tokens[:-1]  # in the page a run may go on
    return tuple(tokens)


def count_word(word: Word, collection: Collection) -> None:
    """Finds out how many pages have the word, and leaves out fields and forms without it: in the
    field that most pages have it in, the sum over its forms."""
    if word.is_prefix:
        word.idf = 1.0
        word.fields = [each for each in word.fields if _terms_from(each, collection, 1)]
        return
    fields: list[FieldForms] = []
    most: list[int] = []
    for each in word.fields:
        there = tuple(
            form
            for form in each.forms
            if all(collection.has_page_with(each.field, token) for token in form)
        )
        if not there:
            continue
        fields.append(FieldForms(each.field, there, each.weight))
        counts = [[collection.pages_with(each.field, token) for token in form] for form in there]
        sums = map(sum, zip_longest(*counts, fillvalue=0))
        most = list(map(max, zip_longest(most, sums, fillvalue=0)))
    word.fields = fields
    if fields:
        pages = collection.counted_pages
        word.pages = min(most)
        word.idf = sum(idf(pages, count) for count in most)
        word.is_common = word.pages >= max(_EVERYWHERE, pages * _COMMON)


def _look_for_typos(word: Word, asked: list[FieldForms], typo_search: TypoSearch) -> None:
    """A word that no page has in the fields that are asked, by the words that are like it."""
    if not all(len(form) == 1 for each in asked for form in each.forms):
        return
    like = typo_search.look_up({each.field: [form[0] for form in each.forms] for each in asked})
    word.is_left = like is None
    if like is None or not like.fields:
        return
    word.typos, word.idf = like.typos, 1.0
    word.fields = [each for each in asked if each.field in like.fields]


def _near(parsed: ParsedQuery, words: list[Word], weights: Weights) -> list[NearWords]:
    """Each two words of the query that follow each other, in the fields that have both."""
    sought = [word for word in words if not word.is_excluded]
    if not weights.phrase or not 2 <= len(sought) <= 6 or any(w.typos for w in sought):
        return []
    if any(clause.kinds or clause.is_phrase for clause in parsed.words):
        return []
    near = []
    for pair in pairwise(sought):
        text, tells = " ".join(word.text for word in pair), sum(word.idf for word in pair)
        for name, weight in {**weights.of_kinds, URL_WORDS: weights.url}.items():
            forms = _forms_beside(name, pair)
            if forms and name != "anchor":
                beside = FieldForms(name, forms, weight * weights.phrase)
                near.append(NearWords(text, beside, tells))
    return near


def _forms_beside(name: str, words: Sequence[Word]) -> tuple[Form, ...]:
    """Words of a query one behind the other, as each language has them, where a field has all of
    them."""
    there = [
        {form for each in word.fields if each.field == name for form in each.forms}
        for word in words
    ]
    if not all(there):
        return ()
    lists = dict.fromkeys(
        tuple(word.cuts[group] for word in words)
        for group in words[0].cuts
        if all(group in word.cuts for word in words)
    )
    return tuple(
        tuple(token for form in forms for token in form)
        for forms in lists
        if all(form in forms_there for form, forms_there in zip(forms, there, strict=True))
    )
