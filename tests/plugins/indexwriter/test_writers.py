"""The index writers that come along, by the contract and by what is their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from crawl.config import Config
from crawl.errors import ConfigError, StorageError
from crawl.plugins.indexwriter.csv import CsvIndexWriter
from crawl.plugins.indexwriter.dummy import DummyIndexWriter
from crawl.plugins.indexwriter.jsonl import JsonlIndexWriter
from crawl.plugins.indexwriter.parquet import ParquetIndexWriter
from crawl.plugins.indexwriter.tantivy import TantivyIndexWriter
from crawl.testing.indexwriter_contract import (
    A,
    B,
    IndexWriterContract,
    LocalShard,
    a_document,
)
from tests.phases.indexed import read_documents


class _Read(IndexWriterContract):
    def documents(self, folder: Path, name: str | None) -> dict[str, str]:
        assert name is not None
        return {url: found["title"] or "" for url, found in read_documents(str(folder / name))}


class TestJsonl(_Read):
    plugin_class = JsonlIndexWriter


class TestJsonlGzip(_Read):
    plugin_class = JsonlIndexWriter
    parameters: ClassVar[dict[str, Any]] = {"gzip": True}


class TestCsv(_Read):
    plugin_class = CsvIndexWriter


class TestParquet(_Read):
    plugin_class = ParquetIndexWriter


class TestTantivy(_Read):
    plugin_class = TantivyIndexWriter


def test_the_embedded_index_keeps_as_much_of_a_text_as_is_set(tmp_path: Path) -> None:
    config = Config.of({"search.stored.characters": 1_000})
    name: str | None = None
    for _ in ("its first files", "those that start from them"):
        writer = TantivyIndexWriter(config, {}).open(LocalShard(tmp_path, name))
        document = a_document(A)
        document.fields["content"] = "word " * 1_000
        writer.add(document, replaces=True)
        name = writer.close()
        ((_, record),) = read_documents(str(tmp_path / name))
        assert len(record["content"]) == 1_000


def test_dummy_tells_what_is_done(tmp_path: Path) -> None:
    shard = LocalShard(tmp_path)
    writer = DummyIndexWriter(Config(), {}).open(shard)
    writer.add(a_document(A), replaces=False)
    writer.delete(B, 1)
    assert (tmp_path / writer.close()).read_text() == f"add\t{A}\ndelete\t{B}\n"


def test_a_csv_record_is_a_line(tmp_path: Path) -> None:
    writer = CsvIndexWriter(Config(), {"fields": "id, anchor", "escape_formulas": "true"})
    shard = writer.open(LocalShard(tmp_path))
    document = a_document(A)
    document.fields["anchor"] = ["=1+1\nx", "b"]
    shard.add(document, replaces=False)
    assert (tmp_path / shard.close()).read_text() == f"id,anchor\n{A},'=1+1 x|b\n"


def test_no_line_for_people_has_control_characters(tmp_path: Path) -> None:
    wicked = "a\x1b]0;owned\x07\x00\x7f\x9b31m\r\nb\tc\u200dd"
    document = a_document(A + "\x1b[2J", wicked)
    shards: list[Any] = [
        CsvIndexWriter(Config(), {"fields": "id,title"}).open(LocalShard(tmp_path)),
        DummyIndexWriter(Config(), {}).open(LocalShard(tmp_path)),
    ]
    for shard in shards:
        shard.add(document, replaces=False)
    csv, dummy = ((tmp_path / shard.close()).read_text() for shard in shards)
    title = "a\\x1b]0;owned\\x07\\x00\\x7f\\x9b31m b\tc\u200dd"
    assert csv == f"id,title\n{A}\\x1b[2J,{title}\n"
    assert dummy == f"add\t{A}\\x1b[2J\n"


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@x", "\t=1", "＝1"])
def test_no_csv_cell_is_a_formula_where_that_is_asked_for(tmp_path: Path, formula: str) -> None:
    document = a_document(A)
    document.fields["title"] = formula
    for escapes, lead in (("true", "'"), ("false", "")):
        writer = CsvIndexWriter(Config(), {"fields": "title", "escape_formulas": escapes})
        shard = writer.open(LocalShard(tmp_path))
        shard.add(document, replaces=False)
        assert (tmp_path / shard.close()).read_text() == f"title\n{lead}{formula}\n"


@pytest.mark.parametrize(
    "parameters", [{"separator": ";;"}, {"header": "maybe"}, {"max_field_length": "-1"}]
)
def test_wrong_parameters(parameters: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        CsvIndexWriter(Config(), parameters)


WITH_LINES = (TestJsonl, TestJsonlGzip, TestCsv, TestParquet)


@pytest.mark.parametrize("kind", WITH_LINES)
@pytest.mark.parametrize("cut", [1, 7, 20, 60])
def test_a_file_that_was_cut_short_is_one_line(tmp_path: Path, kind: type[_Read], cut: int) -> None:
    """Also where nobody knows its checksum."""
    case = kind()
    base = case.filled(tmp_path)
    assert base is not None
    file = tmp_path / base
    file.write_bytes(file.read_bytes()[:-cut])
    with pytest.raises(StorageError, match="--rebuild") as told:
        writer = case.open(tmp_path, base)
        try:
            writer.keep(3)
            writer.close()
        except BaseException:
            writer.abort()
            raise
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("kind", WITH_LINES)
def test_a_file_with_more_than_the_ledger_says_is_one_line(
    tmp_path: Path, kind: type[_Read]
) -> None:
    case = kind()
    writer = case.open(tmp_path, case.filled(tmp_path))
    writer.keep(2)
    with pytest.raises(StorageError, match="more (lines|rows) than the ledger says: .*--rebuild"):
        writer.close()
    writer.abort()
