"""Lines of stdin and stdout, as pipes bring and take them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from crawl.service.mcp import stdio


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for each in ends:
        try:
            os.close(each)
        except OSError:
            continue


def lines_of(pipe: tuple[int, int], *blocks: bytes) -> list[str]:
    reading, writing = pipe

    def write() -> None:
        for block in blocks:
            rest = block
            while rest:
                rest = rest[os.write(writing, rest) :]
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    found = list(stdio._lines_of(reading))
    thread.join()
    return found


def test_lines_come_whole_however_they_are_cut(pipe: tuple[int, int]) -> None:
    assert lines_of(pipe, b'{"a"', b": 1}\n\n  \n{", b"}\r\n", b"rest") == [
        '{"a": 1}',
        "{}\r",
        "rest",
    ]


def test_what_is_no_utf8_does_not_end_it(pipe: tuple[int, int]) -> None:
    assert lines_of(pipe, b"\xff\xfe\n{}\n") == ["\ufffd\ufffd", "{}"]


def test_a_line_without_an_end_does_not_fill_the_memory(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "_MAX_LINE", 1000)
    found = lines_of(pipe, b"x" * 500_000, b"\n{}\n")
    assert [len(each) for each in found] == [1000, 2]


@pytest.mark.parametrize(
    ("line", "is_request", "number"),
    [
        ('{"id": 1, "method": "ping"}', True, "1"),
        ('{"id": 1, "method": "ping"}', False, None),
        ('{"id": "a", "result": {}}', False, "'a'"),
        ('{"id": null, "error": {}}', False, None),
        ('{"method": "notifications/initialized"}', True, None),
        ("[1]", True, None),
        ("[" * 100_000, True, None),
        ("nonsense", True, None),
    ],
)
def test_requests_are_told_from_answers(line: str, is_request: bool, number: str | None) -> None:
    assert stdio._number(line, is_request=is_request) == number
