from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crawl.urls.hosts import hosts_of
from crawl.urls.parse import host_of
from tests.urls.texts import encodable


def test_hosts_of_a_column() -> None:
    urls = pa.array(
        [
            "http://example.com/a",
            "https://www.example.com:8443?q",
            "http://[::1]:8080/",
            "http://user:pw@example.org/",
            "http://MÜLLER.de/",
            "http://a /",
            "http://\t/host/",
            "http:///b/",
            "file:///etc/passwd",
            "nothing",
            "",
            None,
        ]
    )
    assert hosts_of(urls).to_pylist() == [
        "example.com",
        "www.example.com",
        "[::1]",
        "example.org",
        "xn--mller-kva.de",
        None,
        "host",
        "b",
        None,
        None,
        None,
        None,
    ]


def test_slices_large_strings_and_nothing_at_all() -> None:
    urls = pa.array(["http://a/", "x", "http://b/", "http://c/"])
    assert hosts_of(urls.slice(1, 2)).to_pylist() == [None, "b"]
    assert hosts_of(urls.cast(pa.large_string())).to_pylist() == ["a", None, "b", "c"]
    assert hosts_of(urls).type == hosts_of(urls.cast(pa.large_string())).type == pa.string()
    assert hosts_of(pa.array([], pa.string())).to_pylist() == []
    assert hosts_of(pa.array([None, None], pa.string())).to_pylist() == [None, None]


@given(st.lists(st.one_of(encodable, st.none())))
def test_the_column_agrees_with_the_row(urls: list[str | None]) -> None:
    expected = [None if url is None else host_of(url) for url in urls]
    assert hosts_of(pa.array(urls, pa.string())).to_pylist() == expected
