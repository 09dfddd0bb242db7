"""Answers for robots.txt and pauses of servers as rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.tables import ROBOTS, SERVERS
from crawl.robots.stored import StoredAnswer
from crawl.storage.folder import Folder
from crawl.storage.robots_store import answers_table, read_pieces, to_answers, write_answers
from crawl.storage.server_pauses import (
    ServerPause,
    pauses_table,
    read_pause_rows,
    to_pauses,
    write_pauses,
)

MOMENTS = st.integers(0, 2**45)
ANSWERS = st.builds(
    StoredAnswer,
    st.sampled_from(["http://a.org", "https://b.org:8443", "http://[::1]"]),
    MOMENTS,
    MOMENTS,
    st.integers(0, 999),
    st.text(max_size=9),
    st.binary(max_size=9),
    st.sampled_from(["", "length", "time", "disconnect"]),
    st.text(max_size=9),
)
PAUSES = st.builds(
    ServerPause,
    st.text(max_size=9),
    MOMENTS,
    st.integers(0, 99),
    MOMENTS,
    st.floats(0, 1e6),
    st.text(max_size=9),
    MOMENTS,
    st.text(max_size=9),
)


@given(st.lists(ANSWERS, max_size=5))
def test_answers_are_rows_and_back(answers: list[StoredAnswer]) -> None:
    table = answers_table(answers)
    assert table.schema == ROBOTS.schema
    assert list(to_answers(table)) == answers
    assert set(table["host"].to_pylist()) <= {"a.org", "b.org", "[::1]"}


@given(st.lists(PAUSES, max_size=5))
def test_pauses_are_rows_and_back(pauses: list[ServerPause]) -> None:
    table = pauses_table(pauses)
    assert list(to_pauses(table)) == pauses
    stored = table.select(SERVERS.names)
    assert stored.schema == SERVERS.schema
    assert [pause.server for pause in to_pauses(stored)] == [pause.server for pause in pauses]
    assert {pause.closed for pause in to_pauses(stored)} <= {""}


@given(PAUSES, MOMENTS)
def test_a_clock_that_goes_back_makes_no_pause_longer(pause: ServerPause, now_ms: int) -> None:
    told_s = max(0, pause.ready_ms - pause.told_ms) / 1000
    assert pause.pause_s(now_ms) <= told_s
    if now_ms >= pause.told_ms:
        assert now_ms + pause.pause_s(now_ms) * 1000 >= min(pause.ready_ms, now_ms) - 1


def test_a_row_that_cannot_be_ours_is_passed_over() -> None:
    table = answers_table([StoredAnswer("http://a.org", 1, 2, 200, "u")])
    place = table.schema.get_field_index("truncated")
    odd = table.set_column(place, table.schema.field(place), pa.array(["odd"]))
    assert list(to_answers(odd)) == []


def test_files_of_tasks_are_read_back_and_a_damaged_one_is_no_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Folder(str(tmp_path))
    first, second = (StoredAnswer(f"http://{n}.org", 1, 2, 200, "u", b"x") for n in "ab")
    pieces = [write_answers(folder, 0, [first]), write_answers(folder, 0, [second])]
    path = tmp_path / pieces[0].path
    path.write_bytes(path.read_bytes()[:-20])
    found = [answer for rows in read_pieces(folder, pieces) for answer in to_answers(rows)]
    assert found == [second]
    assert "what it held is not known" in caplog.text
    caplog.clear()
    path.unlink()
    found = [answer for rows in read_pieces(folder, pieces) for answer in to_answers(rows)]
    assert found == [second]
    assert not caplog.text, "it was handed over before: nothing to warn of"
    pause = ServerPause("a.org", 5, 1, 9, 2.5, "Retry-After", 2, "closed")
    piece = write_pauses(folder, 3, [pause])
    assert [p for rows in read_pause_rows(folder, piece) for p in to_pauses(rows)] == [pause]
