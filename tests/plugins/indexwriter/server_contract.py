"""The contract of index writers for those whose index is at a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.interfaces.indexwriter import IndexWriter
from crawl.testing.indexwriter_contract import (
    A,
    B,
    IndexWriterContract,
    LocalShard,
    a_document,
)


class ServerContract(IndexWriterContract):
    """Beside the contract: what is sent twice, or late, changes nothing."""

    given: Mapping[str, Any]
    """Parameters, by `begun`."""

    @pytest.fixture(autouse=True)
    def begun(self, request: pytest.FixtureRequest) -> Iterator[None]:
        """Has a server without documents."""
        self.given = request.getfixturevalue("server_parameters")
        yield

    def titles(self) -> dict[str, str]:
        """What the server has."""
        raise NotImplementedError

    def make(self) -> IndexWriter:
        writer: IndexWriter = self.plugin_class(Config(), self.given)
        writer.check()
        return writer

    def documents(self, folder: Path, name: str | None) -> dict[str, str]:
        assert name is None
        self.make().commit()
        return self.titles()

    def test_an_old_write_never_wins(self, folder: Path) -> None:
        writer = self.make().open(LocalShard(folder))
        writer.add(a_document(A, "new", 20), replaces=False)
        writer.add(a_document(B, "new", 20), replaces=False)
        writer.close()
        late = self.make().open(LocalShard(folder))
        late.add(a_document(A, "old", 10), replaces=False)
        late.delete(B, 10)
        assert late.flush().counts == {"version_conflicts": 2}  # type: ignore[attr-defined]
        late.close()
        assert self.documents(folder, None) == {A: "new", B: "new"}

    def test_the_same_may_be_sent_again(self, folder: Path) -> None:
        for title in ("one", "two"):
            writer = self.make().open(LocalShard(folder))
            writer.add(a_document(A, title, 7), replaces=False)
            writer.delete(B, 7)
            assert not writer.flush().counts  # type: ignore[attr-defined]
            writer.close()
        assert self.documents(folder, None) == {A: "two"}

    def test_what_was_deleted_comes_back_under_the_version_of_the_deletion(
        self, folder: Path
    ) -> None:
        writer = self.make().open(LocalShard(folder))
        writer.add(a_document(A, "one", 10), replaces=False)
        writer.flush()  # type: ignore[attr-defined]
        writer.delete(A, 20)
        writer.flush()  # type: ignore[attr-defined]
        writer.add(a_document(A, "back", 20), replaces=False)
        assert not writer.flush().counts  # type: ignore[attr-defined]
        writer.close()
        assert self.documents(folder, None) == {A: "back"}

    def test_odd_urls_are_keys_too(self, folder: Path) -> None:
        odd = ["http://h/a,b", "http://h/ü?q=%2C&x=\"'<>", "http://h/" + "long/" * 300]
        for urls in (odd, odd[:1]):
            writer = self.make().open(LocalShard(folder))
            for url in sorted(urls):
                writer.add(a_document(url, "title", 1), replaces=False)
            writer.close()
        assert self.documents(folder, None) == dict.fromkeys(odd, "title")
        writer = self.make().open(LocalShard(folder))
        for url in sorted(odd):
            writer.delete(url, 2)
        writer.close()
        assert self.documents(folder, None) == {}
