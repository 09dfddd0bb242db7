"""`crawl` as a process that kills itself, or whose disk is full, at the n-th durable step of a
kind: `python -m tests.service.whole.dying "queue put after 2" serve DIR …`

    queue put|replace|finish|release before|after   a transaction of the queue
    store SPACE before|after                        rows put into the metadata store
    search commit before|after
    folder OPERATION PLACE before|after             a file (tests/phases/killed.py)

With `full:` before it, there is no room from that step on, where it is one that writes; where the
environment's FULL names a file, while that is there.
"""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock
from typing import Any

import tests.no_power_cut  # noqa: F401 - by being loaded
from crawl.errors import StorageError
from crawl.search.writer import EmbeddedIndexWriter
from crawl.service.live_search import child, feed
from crawl.service.queues import embedded
from crawl.service.stores.lmdb import LmdbStore
from crawl.service.stores.store import Row, Space
from tests.phases import killed

FULL = "FULL"


class Moment:
    """When to die."""

    def __init__(self, text: str, kills: Sequence[int] = ()) -> None:
        self._kills = kills or (os.getpid(),)
        self.is_full = text.startswith("full:")
        *self.words, number = text.removeprefix("full:").split(" ")
        self._left = int(number)
        self._lock = Lock()

    def comes(self, *words: str) -> None:
        """Dies if this is it."""
        if len(words) != len(self.words) or not all(map(fnmatchcase, words, self.words)):
            return
        with self._lock:
            self._left -= 1
            is_now = self._left <= 0 if self.is_full else self._left == 0
        if self.is_full and FULL in os.environ:
            is_now = Path(os.environ[FULL]).exists()
        if is_now and self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        for each in self._kills if is_now else ():
            os.kill(each, signal.SIGKILL)


def watch(text: str) -> None:
    """Has this process look at every durable step whether the moment has come."""
    moment = Moment(text)
    _watch_queue(moment)
    _watch_store(moment)
    _watch_search(text)
    _watch_folders(moment)


def _watch_queue(moment: Moment) -> None:
    commit, settle = embedded.EmbeddedQueue._commit, embedded._Wish.settle

    def kind_of(wish: Any) -> str:
        return str(wish._settle.__qualname__.split(".")[1])

    def watched_commit(self: Any, group: Sequence[Any]) -> Exception | None:
        try:
            for kind in {kind_of(wish) for wish in group}:
                moment.comes("queue", kind, "before")
        except OSError:
            return sqlite3.OperationalError("database or disk is full")
        return commit(self, group)

    def watched_settle(self: Any) -> None:
        moment.comes("queue", kind_of(self), "after")
        settle(self)

    embedded.EmbeddedQueue._commit = watched_commit  # type: ignore[method-assign]
    embedded._Wish.settle = watched_settle  # type: ignore[method-assign]


def _watch_store(moment: Moment) -> None:
    put_many = LmdbStore.put_many

    def watched(self: LmdbStore, space: Space, rows: Sequence[Row]) -> None:
        try:
            moment.comes("store", space.value, "before")
        except OSError as error:
            raise StorageError(f"the store: {error.strerror}") from error
        put_many(self, space, rows)
        moment.comes("store", space.value, "after")

    LmdbStore.put_many = watched  # type: ignore[method-assign]


def _watch_search(text: str) -> None:
    """The search is written by a process of its own, which takes the service with it."""
    own = "crawl.service.live_search.child import main; main()"
    assert own in feed._START
    there = f"tests.service.whole.dying import write_search; write_search({text!r})"
    feed._START = feed._START.replace(own, there)


def write_search(text: str) -> None:
    """What the process that writes the search does, until the moment has come."""
    moment, commit = Moment(text, kills=(os.getppid(), os.getpid())), EmbeddedIndexWriter.commit

    def watched(self: EmbeddedIndexWriter) -> None:
        moment.comes("search", "commit", "before")
        commit(self)
        moment.comes("search", "commit", "after")

    EmbeddedIndexWriter.commit = watched  # type: ignore[method-assign]
    child.main()


def _watch_folders(moment: Moment) -> None:
    def is_now(write: killed.Write) -> bool:
        which = "before" if write.torn else "after"
        moment.comes("folder", write.operation, write.path, which)
        return False

    cut: Callable[..., None] = killed._cut_by
    cut(is_now)


if __name__ == "__main__":
    from crawl.cli.main import main

    watch(sys.argv[1])
    del sys.argv[1]
    main()
