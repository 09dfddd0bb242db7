from __future__ import annotations

import pyarrow as pa

from crawl.model.records import to_table
from crawl.tables.renormalize import with_urls
from tests.phases.made import datum


def test_files_keep_an_empty_host() -> None:
    rows = to_table([("http://a.org/", "a.org", datum()), ("file:///a", "", datum())])
    moved = with_urls(rows, pa.array(["http://b.org/", "file:///b"]))
    assert moved["host"].to_pylist() == ["b.org", ""]
