from __future__ import annotations

import io
import re
import sys

import pytest

from crawl.cli.output import print_table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(
    monkeypatch: pytest.MonkeyPatch, width: int, columns: list[str], rows: list[list[object]]
) -> str:
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    print_table("title", columns, rows)
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())


def test_a_box_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = drawn(monkeypatch, 40, ["key", "n"], [["a.b", 7]])
    assert "│ a.b │ 7 │" in shown


def test_the_first_column_and_numbers_are_never_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "fetcher.bandwidth.target.check.everyNSecs"
    long = "words that go on and on, /until/the/terminal/has/no/more/room"
    shown = drawn(monkeypatch, 80, ["key", "value", "n"], [[key, long, 1_234_567]])
    assert key in shown
    assert "1,234,567" in shown
    assert "│" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "".join(long.split()) in "".join(
        line[len(key) :].replace("1,234,567", "").replace(" ", "")
        for line in shown.splitlines()[2:]
    )


def test_nothing_is_lost_where_even_the_first_column_has_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = "http://h.org/" + "x" * 100
    shown = drawn(monkeypatch, 40, ["url", "why"], [[url, "because"]])
    assert shown.count("x") == 100
    assert all(len(line) <= 40 for line in shown.splitlines())


def test_a_remark_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("title", ["what", "n"], [["a", 1]], err=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "what  n\na     1\n"
