from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.urls.parse import canonical, parse
from crawl.urls.paths import path_and_query, paths_and_queries
from tests.urls.texts import encodable


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.com/b/c?d=e/f?g#h?i", ("/b/c", "?d=e/f?g")),
        ("http://a.com", ("", "")),
        ("http://a.com?", ("", "?")),
        ("file:///x", ("/x", "")),
        ("mailto:a@b.com", None),
        ("/x?y", None),
    ],
)
def test_the_cut(url: str, expected: tuple[str, str] | None) -> None:
    assert path_and_query(url) == expected


@given(st.lists(encodable))
def test_the_column_agrees_with_the_row(urls: list[str]) -> None:
    paths, queries = paths_and_queries(pa.array(urls, pa.string()))
    cuts = [path_and_query(url) for url in urls]
    assert paths.to_pylist() == [cut and cut[0] for cut in cuts]
    assert queries.to_pylist() == [cut and cut[1] for cut in cuts]


@given(encodable)
def test_of_canonical_web_urls_the_cut_is_the_standards(text: str) -> None:
    url = canonical(text)
    found = parse(text)
    if url is not None and found is not None and found.scheme in ("http", "https"):
        query = "" if found.query is None else "?" + found.query
        assert path_and_query(url) == (found.path, query)
