"""indexwriter tantivy: the embedded index, which `crawl search` reads; a folder a shard.

The next state of a shard is a new folder that begins as the present one, whose files are linked:
it takes a moment, and whoever searches the present one is not disturbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from crawl.config import Config
from crawl.interfaces.indexwriter import NO_PARAMETERS, Shard
from crawl.model.documents import IndexDocument
from crawl.plugins.indexwriter.shared.file_writer import FileIndexWriter
from crawl.search.installed import require_tantivy
from crawl.search.settings import SEARCH_STORED_CHARACTERS

if TYPE_CHECKING:
    from crawl.search.writer import EmbeddedIndexWriter

_SMALLEST_HEAP_MB = 15


class TantivyIndexWriter(FileIndexWriter):
    """Parameters: `path`, `heap_mb` (64): memory of a task for documents that are not on disk."""

    own_parameters: ClassVar[tuple[str, ...]] = ("heap_mb",)

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        super().__init__(config, parameters)
        require_tantivy()
        heap_mb = self._parameters.whole("heap_mb", 64, least=_SMALLEST_HEAP_MB)
        self._settings = heap_mb << 20, config[SEARCH_STORED_CHARACTERS]

    def open(self, shard: Shard) -> _TantivyShard:
        from crawl.search.writer import EmbeddedIndexWriter

        name = shard.new_name("")
        folder = shard.local_path(name)
        if shard.base is None:
            writer = EmbeddedIndexWriter(folder, *self._settings)
        else:
            base = shard.local_path(shard.base)
            writer = EmbeddedIndexWriter.start_from(base, folder, *self._settings)
        return _TantivyShard(writer, name)


class _TantivyShard:
    def __init__(self, writer: EmbeddedIndexWriter, name: str) -> None:
        self._writer = writer
        self._name = name

    def keep(self, count: int) -> None:
        pass  # what is not deleted stays

    def add(self, document: IndexDocument, *, replaces: bool) -> None:
        fields = {**document.fields, "url": document.url}
        fields.setdefault("boost", document.boost)
        fields.setdefault("tstamp", document.version)
        fields["rest"] = document.rest
        self._writer.add(fields, replaces=replaces)

    def delete(self, url: str, version: int) -> None:
        self._writer.delete(url)

    def close(self) -> str:
        self._writer.commit()
        self._writer.close()
        return self._name

    def abort(self) -> None:
        self._writer.close()
