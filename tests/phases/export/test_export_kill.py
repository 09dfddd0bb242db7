"""An export that dies at any write leaves nothing that looks whole, and can be run again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.phases.exported import ExportedCrawl, records_in
from tests.phases.indexed import GONE, Page
from tests.phases.killed import Moment, run_killed, writes_of

pytestmark = pytest.mark.exhaustive

A, B, C = "http://a.com/", "http://b.com/", "http://c.com/"


def _export(folder: str) -> None:
    ExportedCrawl(Path(folder)).export("out", overwrite=True, steal_lock=True)


def _texts(folder: Path) -> dict[str, str]:
    return {url: row["text"] for url, row in records_in(folder / "out").items()}


@pytest.mark.slow(seconds=40)
def test_a_killed_export_looks_unfinished_and_goes_on(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path / "base")
    crawl.round({A: Page("alpha one"), B: Page("beta"), C: Page("gamma")})
    crawl.export("out")  # which is to be replaced
    before = _texts(tmp_path / "base")
    crawl.round({A: Page("alpha two"), B: GONE})
    tried = tmp_path / "tried"
    shutil.copytree(tmp_path / "base", tried)
    writes = writes_of(_export, str(tried))
    after = _texts(tried)
    assert after == {A: "alpha two", C: "gamma"} != before
    assert {"write tried/out/_SUCCESS", "write tried/out/manifest.json, torn"} <= set(writes)
    for kind in sorted(writes):
        if "LOCK" in kind:
            continue
        shutil.rmtree(tried)
        shutil.copytree(tmp_path / "base", tried)
        assert run_killed(_export, str(tried), at=Moment(kind, 1)), kind
        if (tried / "out" / "_SUCCESS").exists():
            assert _texts(tried) in (before, after), kind
        # what was interrupted needs no --overwrite
        again = ExportedCrawl(tried)
        if not (tried / "out" / "_SUCCESS").exists():
            again.export("out", steal_lock=True)
        else:
            again.export("out", overwrite=True, steal_lock=True)
        assert _texts(tried) == after, kind
        assert not (tried / "out" / "LOCK").exists()
        assert not list((tried / "out").rglob(".*")), kind
