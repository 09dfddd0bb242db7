from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from crawl.fetcher.output.followed import not_listed, unfetched_followed, write_followed
from crawl.fetcher.output.segment_output import ChunkSize
from crawl.fetcher.values.item import FollowedUrl
from crawl.fetcher.values.record import FetchRecord
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.storage.bucketed import write_bucketed
from crawl.storage.chunks import FOLLOWED, Chunk
from crawl.storage.folder import Folder
from crawl.storage.segments import FETCH, GENERATE
from tests.fetcher.outputs import Made, record
from tests.fetcher.small_web import DUE

TARGET = FollowedUrl("http://b.org/", "b.org", DUE, ("http://a.org/",), "http://a.org/")
LINK = FollowedUrl("http://a.org/link", "a.org", DUE, depth=2)
URLS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=20)
DATUMS = st.builds(
    CrawlDatum,
    st.just(Status.DB_UNFETCHED),
    st.integers(0, 2**40),
    st.integers(0, 2**40),
    st.integers(0, 2**30),
    st.integers(0, 9),
    st.floats(-10, 10, width=32),
    st.none() | st.binary(min_size=1, max_size=16),
    st.dictionaries(URLS, URLS, max_size=2),
)
MADE = st.builds(
    FollowedUrl, URLS, URLS, DATUMS, st.lists(URLS, max_size=3).map(tuple), URLS, st.integers(0, 99)
)


def chunk_of(segment: Folder, followed: list[FollowedUrl], *records: tuple[str, Status]) -> Chunk:
    rows = to_table((url, "a.org", CrawlDatum(status, 0)) for url, status in records)
    pieces = {FETCH: write_bucketed(segment.child(FETCH), f"{len(followed)}.parquet", rows, 2)}
    return Chunk(pieces, followed=write_followed(segment, 3, followed))


@given(st.lists(MADE, min_size=1, max_size=5, unique_by=lambda each: each.url))
def test_what_is_stored_is_found_as_it_was(followed: list[FollowedUrl]) -> None:
    segment = Folder("memory://followed")
    piece = write_followed(segment, 3, followed)
    assert piece.rows == len(followed) and piece.bytes > 0
    assert unfetched_followed(segment, [Chunk(followed=piece)], set()) == followed


def test_a_record_settles_it(tmp_path: Path) -> None:
    segment = Folder(str(tmp_path))
    open_one = chunk_of(segment, [TARGET], ("http://a.org/", Status.FETCH_REDIR_TEMP))
    assert unfetched_followed(segment, [open_one, Chunk()], {"http://a.org/"}) == [TARGET]
    assert unfetched_followed(segment, [open_one], {"http://a.org/", TARGET.url}) == []


def test_a_target_that_is_left_for_later_is_settled_and_a_link_is_not(tmp_path: Path) -> None:
    segment = Folder(str(tmp_path))
    linked = [(TARGET.url, Status.LINKED), (LINK.url, Status.LINKED)]
    assert unfetched_followed(segment, [chunk_of(segment, [TARGET, LINK], *linked)], set()) == [
        LINK
    ]


def test_the_first_of_several_counts(tmp_path: Path) -> None:
    segment = Folder(str(tmp_path))
    other = FollowedUrl(TARGET.url, "b.org", DUE, ("http://c.org/",))
    chunks = [Chunk(followed=write_followed(segment, 3, each)) for each in ([TARGET], [other])]
    assert unfetched_followed(segment, chunks, set()) == [TARGET]


def test_a_link_that_the_list_names_is_left_to_the_list(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path)).child(GENERATE)
    rows = to_table((each.url, each.host, DUE) for each in (TARGET, LINK))
    write_bucketed(folder, "part.parquet", rows, 2)
    assert not_listed([TARGET, LINK], folder, ["part.parquet"]) == [TARGET]
    other = FollowedUrl("http://a.org/other", "a.org", DUE, depth=1)
    assert not_listed([other], folder, ["part.parquet"]) == [other]


def made(tmp_path: Path, **size: int) -> Made:
    return Made(tmp_path, ChunkSize(**size))


def test_it_is_noted_with_the_answer_that_led_to_it(tmp_path: Path) -> None:
    here = made(tmp_path)
    here.output.add(record(1))
    here.output.add_followed(TARGET)
    here.tick()
    here.add(record(2))
    here.settle()
    left = here.output._journal.uncommitted_notes(lambda name: False)
    notes = [note for notes in left.values() for note in notes]
    (noted,) = [note for note in notes if note.followed]
    assert noted.followed == [TARGET] and record(1) in noted.records
    again = Made(tmp_path, ChunkSize())
    assert again.output.commit_leftovers(set(), set())
    assert unfetched_followed(again.segment, again.marked(), set()) == [TARGET]
    again.output.close()
    here.output._thread.shutdown()
    here.output._journal_writer.close()


def test_it_is_committed_with_the_answer_that_led_to_it(tmp_path: Path) -> None:
    here = made(tmp_path, records=2)
    for number in range(7):  # answers that come together are ticked once
        here.output.add(record(number))
        here.output.add_followed(
            FollowedUrl(f"http://b.org/{number}", "b.org", DUE, (f"{number}",))
        )
    here.tick()
    here.output.close()
    for chunk, urls in zip(here.marked(), here.committed(), strict=True):
        led_to = unfetched_followed(here.segment, [chunk], set())
        assert [f"http://a.org/{each.came_by[0]}" for each in led_to] == sorted(urls)
    assert len(here.marked()) > 1
    assert len(here.segment.names(FOLLOWED)) == len(here.marked())


def test_a_link_is_never_committed_without_the_page_that_led_to_it(tmp_path: Path) -> None:
    here = made(tmp_path, records=1)
    linked = FetchRecord("http://b.org/", "b.org", CrawlDatum(Status.LINKED, 0))
    here.output.add(record(1))
    here.output.add(record(2))
    here.output.add(linked)
    here.tick()
    here.output.close()
    assert any({linked.url, record(2).url} <= set(urls) for urls in here.committed())


def test_a_chunk_without_any_has_no_file(tmp_path: Path) -> None:
    here = made(tmp_path)
    here.add(record(1))
    here.output.close()
    assert [chunk.followed for chunk in here.marked()] == [None]
    assert not here.segment.exists(FOLLOWED)
