"""Which rows of answers and pauses stay when buckets are written."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.tables import ROBOTS, SERVERS
from crawl.phases.fetch.tasks import (
    BUCKET_BYTES,
    BUCKET_ROWS,
    DropExpired,
    newest_answer,
    strictest_pause,
)
from crawl.planning.capacity import ROBOTS_BYTES
from crawl.planning.demand import ROBOTS_ROWS_PER_BUCKET, Demand
from crawl.robots.stored import StoredAnswer
from crawl.storage.robots_store import answers_table, to_answers
from crawl.storage.server_pauses import ServerPause, pauses_table, to_pauses
from crawl.tables.merge import merge_sorted, sort_by_key

NOW = 1_000_000
MOMENTS = st.integers(NOW - 5, NOW + 5)
ANSWERS = st.lists(
    st.builds(
        StoredAnswer,
        st.sampled_from([f"http://{letter}.org" for letter in "abcd"]),
        MOMENTS,
        MOMENTS,
        st.just(200),
        st.just("u"),
        st.binary(max_size=3),
    ),
    max_size=12,
)
PAUSES = st.lists(
    st.builds(
        ServerPause,
        st.sampled_from("abcd"),
        MOMENTS,
        st.integers(0, 3),
        MOMENTS,
        st.just(0.0),
        st.just(""),
        MOMENTS,
    ),
    max_size=12,
)


@given(ANSWERS)
def test_the_newest_answer_of_an_authority_stays(answers: list[StoredAnswer]) -> None:
    rows = sort_by_key(answers_table(answers), ROBOTS.key)
    merged = pa.concat_tables(
        [ROBOTS.schema.empty_table(), *merge_sorted([], rows, newest_answer, ROBOTS.key)]
    )
    found = {each.authority: each.asked_ms for each in to_answers(merged)}
    assert len(found) == merged.num_rows
    assert found == {
        name: max(each.asked_ms for each in answers if each.authority == name)
        for name in {each.authority for each in answers}
    }


@given(PAUSES)
def test_of_pauses_the_last_word_and_the_longest_wait(pauses: list[ServerPause]) -> None:
    rows = sort_by_key(pauses_table(pauses).select(SERVERS.names), SERVERS.key)
    merged = list(merge_sorted([], rows, strictest_pause, SERVERS.key))
    for each in (each for table in merged for each in to_pauses(table)):
        told = [pause for pause in pauses if pause.server == each.server]
        assert each.ready_ms == max(pause.ready_ms for pause in told)
        assert each.told_ms == max(pause.told_ms for pause in told)
        last = [pause for pause in told if pause.told_ms == each.told_ms]
        assert each.failures in {pause.failures for pause in last}


@given(ANSWERS, st.integers(1, 5), st.integers(0, 12))
def test_what_expired_goes_first_and_then_the_oldest(
    answers: list[StoredAnswer], max_rows: int, max_bytes: int
) -> None:
    by_authority = {each.authority: each for each in answers}
    unique = sorted(by_authority.values(), key=lambda each: each.authority)
    drop = DropExpired(NOW, ("expires_at",), "asked_at", max_rows, max_bytes)
    kept = [each for table in drop([answers_table(unique)]) for each in to_answers(table)]
    valid = [each for each in unique if each.expires_ms > NOW]
    assert [each for each in unique if each in kept] == kept, "in the order of the key"
    assert set(kept) <= set(valid)
    assert len(kept) <= max_rows
    assert sum(len(each.body) for each in kept) <= max_bytes
    dropped = [each for each in valid if each not in kept]
    assert all(old.asked_ms <= new.asked_ms for old in dropped for new in kept)
    if len(valid) <= max_rows and sum(len(each.body) for each in valid) <= max_bytes:
        assert not dropped


def test_nothing_is_left_of_nothing() -> None:
    assert list(DropExpired.of_robots(NOW)([])) == []
    assert list(DropExpired.of_servers(NOW)([SERVERS.schema.empty_table()])) == []


def test_a_bucket_is_bounded_and_fifty_million_hosts_fit_into_those_of_their_crawl() -> None:
    """10 billion URLs, as `crawl plan` deals them to buckets, and a robots.txt of 2 kB each."""
    demand = Demand(urls=10e9, hosts=50e6, pages_per_day=1e9)
    each = demand.hosts / demand.bucket_count
    assert 2 * each < BUCKET_ROWS == ROBOTS_ROWS_PER_BUCKET
    assert 2 * each * ROBOTS_BYTES < BUCKET_BYTES
    one = answers_table([StoredAnswer("http://a.org", NOW, NOW + 1, 200, "u", b"")])
    rows = one.take(pa.array([0] * (BUCKET_ROWS + 1)))
    for drop in (DropExpired.of_robots(NOW), DropExpired.of_servers(NOW)):
        assert (drop.max_rows, drop.max_bytes) == (BUCKET_ROWS, BUCKET_BYTES)
    (kept,) = DropExpired.of_robots(NOW)([rows])
    assert kept.num_rows == BUCKET_ROWS
