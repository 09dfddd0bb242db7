from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from tests.examples import scaled
from tests.model.datums import datums, words

records = st.lists(st.tuples(words, words, datums), max_size=6)


@given(records)
@settings(max_examples=scaled(60))
def test_round_trip(given_records: list[tuple[str, str, CrawlDatum]]) -> None:
    table = to_table(given_records)
    assert table.schema.equals(CRAWLDB.schema)
    assert list(to_records(table)) == [(url, datum) for url, _, datum in given_records]
    assert table["host"].to_pylist() == [host for _, host, _ in given_records]


@given(records, st.integers(0, 6), st.integers(0, 6))
@settings(max_examples=scaled(60))
def test_slices_and_chunks(
    given_records: list[tuple[str, str, CrawlDatum]], start: int, length: int
) -> None:
    table = pa.concat_tables([to_table(given_records), to_table(given_records[:2])])
    expected = [(url, datum) for url, _, datum in [*given_records, *given_records[:2]]]
    assert list(to_records(table.slice(start, length))) == expected[start : start + length]


def test_an_unknown_time_of_change_is_null() -> None:
    table = to_table([("u", "h", CrawlDatum(Status.DB_UNFETCHED, 5))])
    assert table["modified_time"].null_count == 1
    assert next(to_records(table))[1].modified_time == 0


def test_columns_that_were_not_read() -> None:
    datum = CrawlDatum(Status.DB_FETCHED, 5, signature=b"s")
    table = to_table([("u", "h", datum)]).drop_columns(["url", "host", "signature"])
    assert list(to_records(table)) == [("", CrawlDatum(Status.DB_FETCHED, 5))]
