"""The conditions of a query on fields that are no text: host, domain, language, type, date."""

from __future__ import annotations

import tantivy

from crawl.search import schema as fields_of
from crawl.search.query_text import EXTRA_PREFIX, FilterClause, ParsedQuery
from crawl.search.schema import schema


def filter_queries(parsed: ParsedQuery) -> list[tuple[tantivy.Occur, tantivy.Query]]:
    """The conditions on fields; several values of one field are alternatives."""
    conditions: list[tuple[tantivy.Occur, tantivy.Query]] = []
    alternatives: dict[str, list[tantivy.Query]] = {}
    for clause in parsed.filters:
        if clause.is_excluded:
            conditions.append((tantivy.Occur.MustNot, _filter(clause)))
        else:
            alternatives.setdefault(clause.field, []).append(_filter(clause))
    for queries in alternatives.values():
        either = tantivy.Query.boolean_query([(tantivy.Occur.Should, q) for q in queries])
        conditions.append((tantivy.Occur.Must, tantivy.Query.const_score_query(either, 0.0)))
    if parsed.since_ms is not None or parsed.until_ms is not None:
        dated = tantivy.Query.range_query(
            schema(),
            fields_of.DATED,
            tantivy.FieldType.Integer,
            lower_bound=_bounded(parsed.since_ms),
            upper_bound=_bounded(parsed.until_ms),
        )
        conditions.append((tantivy.Occur.Must, tantivy.Query.const_score_query(dated, 0.0)))
    return conditions


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
    name = fields_of.LANGUAGE if clause.field == "lang" else fields_of.TYPE
    return tantivy.Query.term_query(schema(), name, clause.value)


def _bounded(moment_ms: int | None) -> int | None:
    return None if moment_ms is None else max(-(1 << 62), min(1 << 62, moment_ms))
