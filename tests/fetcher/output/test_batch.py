from __future__ import annotations

from dataclasses import replace

from crawl.fetcher.output.batch import Batch, pack_notes
from crawl.fetcher.output.chunk_files import GROUP_ROWS
from crawl.fetcher.output.note import Note
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.contents import contents_of
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.storage.segments import CONTENT, FETCH
from tests.fetcher.small_web import DUE


def kept(url: str, datum: CrawlDatum) -> dict[str, str]:
    return {"score": str(datum.score)}


def record(url: str, body: bytes | None = None) -> FetchRecord:
    datum = replace(DUE, status=Status.FETCH_SUCCESS, metadata={"of": url})
    return FetchRecord(url, "a.org", datum, None if body is None else Content(url, body))


def test_records_and_contents_come_out_as_they_went_in() -> None:
    batch = Batch(kept)
    robots = Content("http://a.org/robots.txt", b"User-agent: *", metadata={"own": "1"})
    added = [record("http://a.org/1", b"one"), record("http://a.org/2"), record("u3", b"")]
    assert [batch.add(each) for each in added] == [3, 0, 0]
    assert batch.archive(robots) == 13
    assert (batch.rows, batch.bytes) == (4, 16)

    packed = batch.packed({"records": 3})
    assert packed.counters == {"records": 3}
    assert list(to_records(packed.tables[FETCH])) == [(each.url, each.datum) for each in added]
    contents = list(contents_of(packed.tables[CONTENT]))
    assert [(each.url, each.body, each.metadata) for each in contents] == [
        ("http://a.org/1", b"one", {"score": "1.0"}),
        ("u3", b"", {"score": "1.0"}),
        (robots.url, robots.body, {"own": "1"}),
    ]


def test_the_next_one_is_empty_and_has_as_much_room() -> None:
    batch = Batch(kept)
    batch.add(record("u", bytes(1_000_000)))
    after = batch.next()
    assert after.rows == after.bytes == 0
    assert after.packed({}).tables[CONTENT].num_rows == 0
    assert after.contents.room >= 1_000_000
    after.add(record("v", bytes(40_000_000)))
    assert after.next().contents.room < 20_000_000


def test_a_small_batch_after_a_large_one_keeps_no_more_memory_than_it_needs() -> None:
    large = Batch(kept)
    large.add(record("u", bytes(8_000_000)))
    small = large.next()
    small.add(record("v", bytes(10_000)))
    (chunk,) = small.packed({}).tables[CONTENT]["content"].chunks
    bodies = chunk.buffers()[2]
    assert bodies is not None
    assert (bodies.parent or bodies).size == 10_000
    assert small.next().contents.room < 20_000


def test_notes_are_packed_by_the_batch_with_their_own_counts() -> None:
    rows = GROUP_ROWS
    notes = [
        Note([record(f"u{n}", b"x")], [], {"records": 1, "robots": n % 2}) for n in range(rows + 3)
    ]
    first, second = pack_notes(notes, kept)
    assert [each.tables[FETCH].num_rows for each in (first, second)] == [rows, 3]
    assert [each.counters["records"] for each in (first, second)] == [rows, 3]
    assert first.counters["robots"] + second.counters["robots"] == sum(
        n % 2 for n in range(rows + 3)
    )
    assert list(pack_notes([], kept)) == []
