"""The folders of an index as one collection, which tantivy searches as it searches one folder.

tantivy counts how many pages have a word, and how long they are, over the segments of the index
that it has opened. Folders that are opened one by one have averages of their own, and a page would
rank by the folder that it lies in; no factor on a score can make that good. So the segments of all
folders are listed in one `meta.json`, beside links to their files, in a passing folder: it is
needed until they are mapped into memory, and is gone when the collection is open.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tantivy

from crawl.search import schema as fields_of
from crawl.search.file_sums import META_FILES
from crawl.search.languages import GROUPS
from crawl.search.schema import schema
from crawl.search.writer import check_folder
from crawl.storage.file_sum import FileSum

_META = META_FILES[0]
_TRIES = 20


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

    def has_page_with(self, field: str, token: str) -> bool:
        """Whether a page has a token in a field that was not deleted."""
        count = self.pages_with(field, token)
        if not count or count > self.counted_pages - self.pages:
            return count > 0
        query = tantivy.Query.term_query(schema(), field, token)
        return bool(self.searcher.search(query, 1, count=False).hits)


def _opened(places: Sequence[Path]) -> tuple[tantivy.Searcher, int]:
    together = Path(tempfile.mkdtemp(prefix="nutria-search-"))
    try:
        segments = _linked_segments(places, together)
        index = tantivy.Index.open(str(together)) if places else tantivy.Index(schema())
        index.config_reader("manual")  # nothing changes there: no thread is to look
        index.reload()
        return index.searcher(), sum(segment["max_doc"] for segment in segments)
    finally:
        _remove(together)


def _linked_segments(places: Sequence[Path], together: Path) -> list[dict[str, Any]]:
    """Makes a folder of the segments of all folders; the segments."""
    segments: dict[str, dict[str, Any]] = {}
    for place in places:
        meta: dict[str, Any] = json.loads((place / _META).read_bytes())
        segments |= {segment["segment_id"]: segment for segment in meta["segments"]}
        for file in place.iterdir():
            name, link = file.name, together / file.name
            if not name.startswith(".") and not name.endswith(".json") and not link.exists():
                link.symlink_to(file)
        together_meta = {**meta, "segments": list(segments.values()), "opstamp": 0}
        (together / _META).write_text(json.dumps(together_meta))
    return list(segments.values())


def _remove(folder: Path) -> None:
    """Deletes a folder in which a thread of tantivy's, which looks for changes until it is told
    that there are none, may just be making its lock."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
