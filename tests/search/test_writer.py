"""The writer of the embedded index: add, replace, delete, commit, die."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tantivy

from crawl.errors import Locked, StorageError, UsageError
from crawl.search.file_sums import FORMAT_FILE
from crawl.search.record import Record, stored_record
from crawl.search.schema import schema
from crawl.search.writer import EmbeddedIndexWriter, open_index


def records(folder: Path) -> dict[str, Record]:
    index = open_index(str(folder))
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(tantivy.Query.all_query(), 1000).hits
    found = [stored_record(searcher.doc(address)) for _, address in hits]
    assert len({each.url for each in found}) == len(found)
    return {each.url: each for each in found}


def page(number: int, **fields: object) -> dict[str, object]:
    return {
        "url": f"http://a.example/{number}",
        "title": f"Page {number}",
        "content": f"about thing{number}",
        "lang": "en",
        **fields,
    }


def test_a_document_is_replaced_by_url_and_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    with EmbeddedIndexWriter(str(folder)) as writer:
        for number in range(10):
            writer.add(page(number))
        writer.add(page(3, title="newer"))
        writer.delete("http://a.example/4")
    found = records(folder)
    assert len(found) == 9
    assert found["http://a.example/3"].title == "newer"
    assert "http://a.example/4" not in found
    with EmbeddedIndexWriter(str(folder)) as writer:
        writer.add(page(5, title="again"))
        writer.delete("http://a.example/0")
        writer.delete("http://a.example/never")
    found = records(folder)
    assert len(found) == 8
    assert found["http://a.example/5"].title == "again"


def test_what_is_not_committed_is_lost_and_the_rest_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    writer = EmbeddedIndexWriter(str(folder))
    writer.add(page(1))
    writer.commit()
    writer.add(page(2))
    writer.close()
    writer.close()
    assert list(records(folder)) == ["http://a.example/1"]
    with pytest.raises(RuntimeError), EmbeddedIndexWriter(str(folder)) as writer:
        writer.add(page(3))
        raise RuntimeError
    assert list(records(folder)) == ["http://a.example/1"]


def test_a_process_that_dies_leaves_its_last_commit_and_no_lock(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    dying = (
        "import os, sys; from crawl.search.writer import EmbeddedIndexWriter\n"
        "writer = EmbeddedIndexWriter(sys.argv[1])\n"
        "writer.add({'url': 'http://a.example/1', 'content': 'one'}); writer.commit()\n"
        "writer.add({'url': 'http://a.example/2', 'content': 'two'}); os._exit(9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", dying, str(folder)], check=False)
    assert ended.returncode == 9
    with EmbeddedIndexWriter(str(folder)) as writer:
        writer.add(page(3))
    assert sorted(records(folder)) == ["http://a.example/1", "http://a.example/3"]


def test_a_folder_that_starts_from_another_leaves_it_as_it_is(tmp_path: Path) -> None:
    base, next_one = tmp_path / "base", tmp_path / "next"
    with EmbeddedIndexWriter(str(base)) as writer:
        for number in range(5):
            writer.add(page(number))
    before = {file.name: file.read_bytes() for file in base.iterdir()}
    with EmbeddedIndexWriter.start_from(str(base), str(next_one)) as writer:
        writer.delete("http://a.example/0")
        writer.add(page(1, title="newer"))
        writer.add(page(9))
    assert {file.name: file.read_bytes() for file in base.iterdir()} == before
    assert len(records(base)) == 5
    found = records(next_one)
    assert sorted(found) == [f"http://a.example/{number}" for number in (1, 2, 3, 4, 9)]
    assert found["http://a.example/1"].title == "newer"


def test_one_writer_a_folder(tmp_path: Path) -> None:
    writer = EmbeddedIndexWriter(str(tmp_path / "index"))
    with pytest.raises(Locked, match="is being written by another process"):
        EmbeddedIndexWriter(str(tmp_path / "index"))
    writer.close()
    EmbeddedIndexWriter(str(tmp_path / "index")).close()


@pytest.mark.parametrize("note", [None, b"", b"[]", json.dumps({"format": 99}).encode()])
def test_an_index_of_another_format_is_told(tmp_path: Path, note: bytes | None) -> None:
    EmbeddedIndexWriter(str(tmp_path / "index")).close()
    if note is None:
        (tmp_path / "index" / FORMAT_FILE).unlink()
    else:
        (tmp_path / "index" / FORMAT_FILE).write_bytes(note)
    with pytest.raises(StorageError, match="--rebuild"):
        EmbeddedIndexWriter(str(tmp_path / "index"))
    with pytest.raises(StorageError, match="is no folder of an embedded index"):
        open_index(str(tmp_path))


def test_a_damaged_folder_is_one_line(tmp_path: Path) -> None:
    EmbeddedIndexWriter(str(tmp_path / "index")).close()
    (tmp_path / "index" / "meta.json").write_bytes(b"{")
    with pytest.raises(StorageError) as raised:
        EmbeddedIndexWriter(str(tmp_path / "index"))
    assert "\n" not in str(raised.value)


def test_hostile_fields_are_kept_within_bounds(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    long_url = "http://a.example/" + "x" * 200_000
    with EmbeddedIndexWriter(str(folder)) as writer:
        writer.add(
            {
                "url": "http://a.example/\ud800",
                "title": "\x00\ud800" + "t" * 10**6,
                "content": "word " * 10**6,
                "anchor": ["a" * 10**6] * 1000,
                "lang": "x" * 10**6,
                "boost": float("nan"),
                "tstamp": 1e300,
                "date": "yesterday",
                "metadata": ["v"] * 1000,
                "binary": b"\xff",
            }
        )
        writer.add({"url": long_url, "content": "long"})
        writer.add({"url": long_url, "content": "longer"})
        writer.delete(long_url + "y")
        with pytest.raises(UsageError, match="has no url"):
            writer.add({"title": "nobody"})
    found = records(folder)
    assert len(found) == 2
    assert found[long_url].text == "longer"
    odd = found["http://a.example/?"]
    assert len(odd.text) == 20_000
    assert len(odd.title) == 2_000
    assert odd.score == 1.0
    assert len(odd.extra["metadata"]) == 50


def test_fields_that_are_asked_for_are_there() -> None:
    assert schema() is schema()


def test_an_index_has_its_format_from_its_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks meanwhile, and whoever comes after a death in between, finds one or none."""
    folder = tmp_path / "index"

    def die(path: Path, data: bytes) -> None:
        assert not (folder / "meta.json").exists()
        raise OSError("killed")

    with monkeypatch.context() as patched:
        patched.setattr("crawl.search.writer.write_atomically", die)
        with pytest.raises(StorageError, match="killed"):
            EmbeddedIndexWriter(str(folder))
    folder.joinpath(FORMAT_FILE).write_text('{"format": 2, "tantivy": ""}')  # dead behind it
    with EmbeddedIndexWriter(str(folder)) as writer:
        writer.add({"url": "http://a.test/", "title": "a", "content": "words"})
    assert open_index(str(folder)).searcher().num_docs == 1
