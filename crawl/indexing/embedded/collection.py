"""The folders of an index as one collection, which tantivy searches as it searches one folder.

tantivy counts how many pages have a word, and how long they are, over the segments of the index
that it has opened. Folders that are opened one by one have averages of their own, and a page would
rank by the folder that it lies in; no factor on a score can make that good. So the segments of all
folders are listed in one `meta.json`, beside links to their files, in a passing folder: it is
needed until they are mapped into memory, and is gone when the collection is open.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tantivy

from crawl.indexing.embedded import schema as fields_of
from crawl.indexing.embedded.file_sums import META_FILES
from crawl.indexing.embedded.languages import GROUPS
from crawl.indexing.embedded.schema import schema
from crawl.indexing.embedded.writer import check_folder
from crawl.indexing.file_sum import FileSum

_META = META_FILES[0]


class Collection:
    """All pages of the folders, as they were when they were opened."""

    def __init__(self, folders: Iterable[str], lists: Mapping[str, FileSum] | None = None) -> None:
        """`lists`: the sums of the lists of the folders' files, by the folders' names. Raises
        StorageError where a folder is none, damaged or of another format."""
        places = [Path(folder).absolute() for folder in folders]
        for place in places:
            check_folder(str(place), (lists or {}).get(place.name))
        self.searcher, self.counted_pages = _opened(places)
        self.groups = tuple(
            group for group in GROUPS if self.searcher.doc_freq(fields_of.GROUP, group)
        )
        """The groups of languages that pages are of."""

    @property
    def pages(self) -> int:
        """How many there are."""
        return self.searcher.num_docs

    counted_pages: int
    """Those that statistics count: deleted ones are among them until tantivy merges them away."""

    def pages_with(self, field: str, token: str) -> int:
        """How many pages have a token in a field, deleted ones included."""
        return self.searcher.doc_freq(field, token)


def _opened(places: Sequence[Path]) -> tuple[tantivy.Searcher, int]:
    with tempfile.TemporaryDirectory(prefix="nutria-search-") as passing:
        together = Path(passing)
        segments: list[dict[str, Any]] = []
        meta: dict[str, Any] = {}
        for place in places:
            meta = json.loads((place / _META).read_bytes())
            segments += meta["segments"]
            for file in place.iterdir():
                if file.name.partition(".")[0] and not file.name.endswith(".json"):
                    (together / file.name).symlink_to(file)
        if not places:
            index = tantivy.Index(schema(), passing)
        else:
            (together / _META).write_text(json.dumps({**meta, "segments": segments, "opstamp": 0}))
            index = tantivy.Index.open(passing)
        index.config_reader("manual")  # nothing changes there: no thread is to look
        index.reload()
        return index.searcher(), sum(segment["max_doc"] for segment in segments)
