"""datatrove itself reads what is exported, and counts repetitions as our signals do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawl.phases.export.tasks.signals import signals_of
from tests.phases.exported import ExportedCrawl
from tests.phases.indexed import Page

pytest.importorskip("datatrove")

A, B = "http://a.com/", "http://b.com/"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("format", "reader"), [("jsonl", "JsonlReader"), ("parquet", "ParquetReader")]
)
def test_its_readers_find_text_id_and_metadata(tmp_path: Path, format: str, reader: str) -> None:
    from datatrove.pipeline import readers

    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha one"), B: Page("beta one")})
    crawl.export("out", format, "full")
    made: Any = getattr(readers, reader)(f"{crawl.place('out')}/data")
    documents = {document.id: document for document in made.run()}
    assert {url: each.text for url, each in documents.items()} == {A: "alpha one", B: "beta one"}
    metadata = documents[A].metadata
    assert metadata["url"] == A and metadata["title"] == "alpha"
    assert metadata["quality"]["words"] == 2


@pytest.mark.filterwarnings("ignore")
def test_repetitions_are_counted_as_its_filter_counts_them() -> None:
    from datatrove.pipeline.filters import gopher_repetition_filter as gopher

    text = (
        "a rose is a rose is a rose\nand so on\n\nand so on\n" * 3 + "the end of it all, my friend."
    )
    found, words = signals_of(text), text.split()
    for n in (2, 3, 4):
        share = gopher.find_top_duplicate(gopher.get_n_grams(words, n)) / len(text)
        assert found[f"top_{n}_gram_share"] == pytest.approx(share, abs=1e-4)
    for n in range(5, 11):
        share = gopher.find_all_duplicate(words, n) / len(text)
        assert found[f"duplicate_{n}_grams_share"] == pytest.approx(share, abs=1e-4)
