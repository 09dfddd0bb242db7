"""What every index writer must keep to; subclass it in your own tests:

class TestMine(IndexWriterContract):
    plugin_class = MyIndexWriter

    def documents(self, name):
        return {url: title of each document of a shard's state}
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import uuid
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.indexwriter import IndexWriter, ShardWriter
from crawl.model.documents import IndexDocument

A, B, C, D = (f"http://www.example.com/{letter}" for letter in "abcd")


@dataclass(frozen=True, slots=True)
class LocalShard:
    """A shard in a folder of its own."""

    folder: Path
    base: str | None = None
    number: int = 3

    def new_name(self, suffix: str) -> str:
        return f"part-{self.number:05d}-{uuid.uuid4().hex[:8]}{suffix}"

    @contextmanager
    def open_read(self, name: str) -> Iterator[IO[bytes]]:
        with (self.folder / name).open("rb") as stream:
            yield stream

    @contextmanager
    def open_write(self, name: str) -> Iterator[IO[bytes]]:
        with (self.folder / name).open("wb") as stream:
            yield stream

    def local_path(self, name: str) -> str:
        return str(self.folder / name)


def a_document(url: str, title: str = "title", version: int = 1) -> IndexDocument:
    fields: dict[str, Any] = {"id": url, "url": url, "title": title, "content": f"text of {title}"}
    fields |= {"anchor": ["one", "two, 2"], "boost": 1.5, "contentLength": 12}
    return IndexDocument(url, version, 1.5, fields)


class IndexWriterContract:
    """Tests for pytest: add, update, delete, commit, and what a death leaves."""

    plugin_class: ClassVar[Any]
    parameters: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def documents(self, folder: Path, name: str | None) -> dict[str, str]:
        """The titles of a shard's documents, by URL."""

    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        path = Path(tempfile.mkdtemp())
        yield path
        shutil.rmtree(path, ignore_errors=True)

    def make(self) -> IndexWriter:
        writer: IndexWriter = self.plugin_class(Config(), self.parameters)
        writer.check()
        return writer

    def open(self, folder: Path, base: str | None = None) -> ShardWriter:
        return self.make().open(LocalShard(folder, base))

    def filled(self, folder: Path) -> str | None:
        writer = self.open(folder)
        for url in (A, B, C):
            writer.add(a_document(url), replaces=False)
        return writer.close()

    def test_documents_are_there_when_it_is_closed(self, folder: Path) -> None:
        name = self.filled(folder)
        self.make().commit()
        assert self.documents(folder, name) == dict.fromkeys((A, B, C), "title")

    def test_update_and_delete(self, folder: Path) -> None:
        writer = self.open(folder, self.filled(folder))
        writer.delete(A, 2)
        writer.add(a_document(B, "new", 2), replaces=True)
        writer.keep(1)
        writer.add(a_document(D, "last", 2), replaces=False)
        name = writer.close()
        self.make().commit()
        assert self.documents(folder, name) == {B: "new", C: "title", D: "last"}

    def test_the_state_before_stays_until_it_is_swept(self, folder: Path) -> None:
        before = self.filled(folder)
        writer = self.open(folder, before)
        writer.keep(2)
        writer.delete(C, 2)
        name = writer.close()
        assert self.documents(folder, name) == dict.fromkeys((A, B), "title")
        if self.make().keeps_files:
            assert name != before
            assert self.documents(folder, before) == dict.fromkeys((A, B, C), "title")

    def test_one_that_gave_up_is_done_again(self, folder: Path) -> None:
        base = self.filled(folder)
        given_up = self.open(folder, base)
        given_up.keep(1)
        given_up.add(a_document(B, "new", 2), replaces=True)
        given_up.abort()
        writer = self.open(folder, base)
        writer.keep(1)
        writer.add(a_document(B, "new", 2), replaces=True)
        writer.keep(1)
        name = writer.close()
        assert self.documents(folder, name) == {A: "title", B: "new", C: "title"}

    def test_odd_texts_come_back(self, folder: Path) -> None:
        writer = self.open(folder)
        odd = 'a "b", c;|=1+1 日本 é \\ '
        writer.add(a_document(A, odd), replaces=False)
        writer.add(a_document(B, ""), replaces=False)
        titles = self.documents(folder, writer.close())
        assert titles == {A: odd, B: ""}

    def test_an_unknown_parameter_is_one_line(self) -> None:
        with pytest.raises(ConfigError, match="no parameter is called 'nonsens'"):
            self.plugin_class(Config(), {"nonsens": "1"})

    def test_it_travels_by_name(self) -> None:
        assert pickle.loads(pickle.dumps(self.plugin_class)) is self.plugin_class
