"""Rounds, verdicts, indexing, cleaning and pausing writers in any order: the index is in the end
what a rebuild makes of the crawl."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from crawl.errors import NothingToDo
from crawl.model.derived_tables import INDEX
from crawl.model.status import Status
from tests.phases.indexed import GONE, MOVED, IndexedCrawl, Page

URLS = [f"http://{host}.com/" for host in "abcd"]
NOINDEX = "<meta name=robots content=noindex>"
STATES = (
    Status.DB_FETCHED,
    Status.DB_NOTMODIFIED,
    Status.DB_DUPLICATE,
    Status.DB_GONE,
    Status.DB_ORPHAN,
    Status.DB_REDIR_PERM,
)
BOTH = "jsonl,csv"


class _RandomCrawl:
    def __init__(self, folder: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self.crawl = IndexedCrawl(folder)
        self._segments: list[str] = []
        self._waiting: list[str] = []
        """Those that the CrawlDb has not taken in yet."""

    def round(self) -> None:
        self.take_in()
        urls = URLS if not self._segments else self._random.sample(URLS, 2)
        number = len(self._segments)
        kinds = (Page(f"word{number}"), Page(f"word{number}", NOINDEX), GONE, MOVED)
        pages = {url: self._random.choices(kinds, (6, 2, 1, 1))[0] for url in urls}
        is_late = bool(self._segments) and self._random.random() < 0.2
        self._segments.append(self.crawl.round(pages, update=not is_late))
        if is_late:
            self._waiting.append(self._segments[-1])

    def take_in(self) -> None:
        while self._waiting:
            self.crawl.update(self._waiting.pop())

    def judge(self) -> None:
        urls = self._random.sample(URLS, 2)
        self.crawl.set_records({url: self._random.choice(STATES) for url in urls})

    def index(self) -> None:
        self.crawl.settings["index.writers"] = self._random.choice(["jsonl", BOTH])
        named = [self._random.choice(self._segments)] if self._random.random() < 0.2 else []
        every = not named and self._random.random() < 0.1
        try:
            self.crawl.index(*named, every=every, delete_gone=self._random.random() < 0.5)
        except NothingToDo:
            return

    def clean(self) -> None:
        if self.crawl.crawl_dir.dataset(INDEX).current() is not None:
            self.crawl.clean()

    def documents(self) -> list[dict[str, str]]:
        return [
            {url: each["content"] for url, each in self.crawl.documents(writer).items()}
            for writer in BOTH.split(",")
        ]


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=40)
@pytest.mark.parametrize("seed", range(4))
def test_the_index_is_what_a_rebuild_makes(tmp_path: Path, seed: int) -> None:
    made = _RandomCrawl(tmp_path, seed)
    made.round()
    order = random.Random(seed)
    for _ in range(8):
        order.choice([made.round, made.judge, made.index, made.index, made.clean])()
    made.take_in()
    made.crawl.settings["index.writers"] = BOTH
    with contextlib.suppress(NothingToDo):
        made.crawl.index()
    made.crawl.clean()
    found = made.documents()
    made.crawl.index(rebuild=True)
    assert found == made.documents()
