"""indexwriter dummy: what would be done, as text: `add URL`, `update URL`, `delete URL`.

As Nutch's it is for looking at: a shard's file tells of the last index or clean that changed it.
"""

from __future__ import annotations

from crawl.interfaces.indexwriter import Shard
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.file_writer import FileIndexWriter, FileShard
from crawl.printable import without_controls


class DummyIndexWriter(FileIndexWriter):
    """Parameters: `path`."""

    def open(self, shard: Shard) -> _DummyShard:
        return _DummyShard(shard, ".txt")


class _DummyShard(FileShard):
    def keep(self, count: int) -> None:
        pass

    def add(self, document: IndexDocument, *, replaces: bool) -> None:
        self._tell("update" if replaces else "add", document.url)

    def delete(self, url: str, version: int) -> None:
        self._tell("delete", url)

    def _tell(self, what: str, url: str) -> None:
        self._new.write(f"{what}\t{without_controls(url)}\n".encode("utf-8", "replace"))
