"""export through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.api import crawl as api
from crawl.errors import UsageError
from tests.cli.calling import Caller
from tests.phases.exported import ExportedCrawl, records_in
from tests.phases.indexed import GONE, Page

A, B, C = "http://a.com/", "http://b.com/", "http://c.com/"


@pytest.fixture
def made(tmp_path: Path) -> ExportedCrawl:
    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha one"), B: Page("beta"), C: GONE})
    return crawl


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_pages_become_a_dataset(crawl: Caller, made: ExportedCrawl, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = crawl("export", made.address, out, "-q")
    assert answer.code == 0, answer.err
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["records", "2"] in rows and ["skipped.gone", "1"] in rows
    assert f"wrote 2 records of 2 pages to {out}" in answer.err
    assert set(records_in(out)) == {A, B}
    again = crawl("export", made.address, out)
    assert again.code == 2 and "--overwrite" in again.err and again.err.count("\n") == 1
    result = crawl(
        *("export", made.address, out, "--overwrite", "--format", "parquet", "--json", "-q"),
        *("--chunk", "20", "--chunk-unit", "words", "--segments", "20261115093001"),
    ).json
    assert result["records"] == 2 and result["files"] == len(list((out / "data").iterdir()))
    assert set(records_in(out)) == {f"{A}#chunk=0", f"{B}#chunk=0"}


def test_what_cannot_be_meant_is_one_line(
    crawl: Caller, made: ExportedCrawl, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for arguments, line in (
        (("--format", "csv"), "'csv' is not one of"),
        (("--chunk", "3"), "--chunk"),
        (("--format", "wet", "--chunk", "100"), "holds whole pages"),
        (("--segments", "20200101000000"), "has no segment 20200101000000"),
        (("--since", "77"), "newest snapshot"),
    ):
        answer = crawl("export", made.address, out, *arguments)
        assert answer.code == 2 and line in answer.err, answer.err
        assert answer.err.count("\n") == 1 and not out.exists()
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    refused = crawl("export", made.address, out, "--overwrite")
    assert refused.code == 2 and "holds other files" in refused.err
    (tmp_path / "file").write_text("x")
    file = crawl("export", made.address, tmp_path / "file", "--overwrite")
    assert file.code == 2 and "is a file: an export is a folder" in file.err
    with (
        api.open(made.address) as web,
        pytest.raises(UsageError, match="chunk: .* at least 16, got 1"),
    ):
        web.export(tmp_path / "new", chunk=1)
    nowhere = crawl("export", tmp_path / "nowhere", tmp_path / "new")
    assert nowhere.code == 2 and "has no CrawlDb yet" in nowhere.err
