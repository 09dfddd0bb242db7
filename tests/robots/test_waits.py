from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.robots.waits import MAX_WAIT_S, crawl_delay_seconds, retry_after_seconds

NOVEMBER_1994_MS = 784_111_777_000
"""Sun, 06 Nov 1994 08:49:37 GMT"""


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10", 10.0),
        (" 0.5 ", 0.5),
        ("0,5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("0", 0.0),
        ("9" * 400, MAX_WAIT_S),
        ("99999999999", MAX_WAIT_S),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1e3", None),
        ("inf", None),
        ("nan", None),
        ("0x10", None),
        ("1_000", None),
        ("1.2.3", None),
        ("ten", None),
        (".", None),
        ("٣", None),
    ],
)
def test_crawl_delays(value: str, seconds: float | None) -> None:
    assert crawl_delay_seconds(value) == seconds


@pytest.mark.parametrize(
    "header",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 09:49:37 +0100",
    ],
)
def test_retry_after_as_a_date(header: str) -> None:
    assert retry_after_seconds(header, NOVEMBER_1994_MS - 90_500) == 90.5
    assert retry_after_seconds(header, NOVEMBER_1994_MS + 1) == 0.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("9" * 1000, MAX_WAIT_S),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_WAIT_S),
        ("", None),
        ("-120", None),
        ("soon", None),
        ("Sun, 99 Nov 1994 08:49:37 GMT", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    assert retry_after_seconds(header, NOVEMBER_1994_MS) == seconds


@given(st.text() | st.from_regex(r"\A[A-Z][a-z]{2}, [0-9-]{2,9} [A-Z][a-z]{2} .{0,20}"))
def test_any_header_is_a_bounded_wait_or_none(header: str) -> None:
    for wait in (crawl_delay_seconds(header), retry_after_seconds(header, NOVEMBER_1994_MS)):
        assert wait is None or 0 <= wait <= MAX_WAIT_S
