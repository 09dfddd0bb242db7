"""A folder of any size is written in bounded memory, also where every document replaces one."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.search import writer as module
from crawl.search.writer import EmbeddedIndexWriter, open_index


def _fields(number: int, text: str) -> dict[str, object]:
    return {"url": f"http://a.com/{number}", "title": text, "content": f"{text} {number}"}


def test_deletions_are_committed_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_DELETIONS_PER_COMMIT", 7)
    folder = str(tmp_path / "index")
    commits: list[int] = []
    commit = EmbeddedIndexWriter.commit

    def counted(self: EmbeddedIndexWriter) -> None:
        commits.append(self._deleted)
        commit(self)

    monkeypatch.setattr(EmbeddedIndexWriter, "commit", counted)
    with EmbeddedIndexWriter(folder) as writer:
        for number in range(40):
            writer.add(_fields(number, "first"), replaces=False)
        assert not commits
        for number in range(40):
            writer.add(_fields(number, "second"))
        writer.delete("http://a.com/3")
    assert commits == [7, 7, 7, 7, 7, 6]
    index = open_index(folder)
    searcher = index.searcher()
    assert searcher.num_docs == 39
    for word, count in (("first", 0), ("second", 39)):
        query = index.parse_query(word, ["title"])
        assert len(searcher.search(query, 100).hits) == count
