"""crawl rebucket: what it tells people and programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Caller
from tests.phases.linked_crawl import in_this_process
from tests.phases.made import datum, make_crawldb


def test_what_it_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Caller(capsys)
    where = make_crawldb(str(tmp_path / "c"), {"http://a.org/": datum()}, buckets=2).address
    with in_this_process(monkeypatch):
        answer = crawl("rebucket", where, "--buckets", 4)
        assert answer.err.splitlines()[-1] == (
            f"rebucket: {where}/crawldb is now snapshot 2 with 1 URLs in 4 buckets"
        )
        answer = crawl("rebucket", where, "--buckets", 4, "--json")
    assert answer.json == {"snapshot": 2, "urls": 1, "buckets": 4}
    assert answer.err.splitlines()[-1] == (
        f"rebucket: {where}/crawldb has 4 buckets already: nothing to do"
    )
