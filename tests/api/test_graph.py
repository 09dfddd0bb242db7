"""The link graph from Python, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import crawl
from crawl.errors import UsageError
from tests.cli.indexing_here import index_in_this_process
from tests.phases.linked_pages import add_parse
from tests.phases.made import datum, make_crawldb

URLS = [f"http://x{n}.org/" for n in range(6)]


def test_nodes_by_the_names_of_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_in_this_process(monkeypatch)
    directory = make_crawldb(str(tmp_path / "c"), {url: datum() for url in URLS})
    add_parse(
        directory,
        "20260101000000",
        {url: [URLS[0], URLS[(n + 1) % 6]] for n, url in enumerate(URLS)},
    )
    with crawl.open(tmp_path / "c", progress=False) as web:
        web.webgraph()
        assert web.nodedumper(by="inlinks", top=1) == [(URLS[0], 5.0)]
        assert web.nodedumper(tmp_path / "out", by="inlinks") == 6
        assert pq.read_table(tmp_path / "out").num_rows == 6
        node = web.nodereader(URLS[0], links=9)
        assert node is not None and sorted(node["linked_from"]) == URLS[1:]
        assert web.nodereader("http://nowhere.org/") is None
        for wrong in (
            {"top": 3, "format": "text"},
            {"top": 3, "overwrite": True},
            {"as_eff": True},
            {},
        ):
            with pytest.raises(UsageError, match=r"output|folder"):
                web.nodedumper(by="inlinks", **wrong)
