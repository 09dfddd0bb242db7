"""The process that writes what is searched live: it receives pages, and says what is committed.

It ends with its parent, whose end of the pipe is closed then, and gives way to all others. Signals
to the whole process group, as terminals and supervisors send them, are its parent's to obey: until
the pipe is closed, it may be sent pages that are to be committed."""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import sys
from pathlib import Path
from typing import IO

from crawl.clock import SystemClock
from crawl.errors import CrawlError
from crawl.parsing.process.messages import PeerGone, receive, send, unpack_table
from crawl.service.live_search.writing import LiveIndex
from crawl.service.open_places import require_place
from crawl.storage.crawl_dir import CrawlDir

_NICENESS = 15
ADD, REMOVE, MISS, READ = b"add", b"remove", b"miss", b"read"


def main() -> None:
    """Serves until the parent is gone."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    os.nice(_NICENESS)
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no reply
    try:
        address, folder, characters, every_s, place = pickle.loads(receive(requests)[0])
        require_place(Path(folder), place)  # it may have been replaced while this was loaded
        index = LiveIndex(CrawlDir(address), Path(folder), characters)
        _serve(index, requests, replies, every_s)
    except PeerGone:
        return
    except CrawlError as error:  # a full disk, say: another is started, and reads what is missing
        sys.exit(f"what is searched live cannot be written: {error}")


def _serve(index: LiveIndex, requests: IO[bytes], replies: IO[bytes], every_s: float) -> None:
    clock = SystemClock()
    index.catch_up()
    index.commit()
    send(replies, [b"0"])
    done = 0
    committed_at = clock.monotonic()
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    try:
        while True:
            due_s = max(0.0, every_s - (clock.monotonic() - committed_at))
            if not index.uncommitted or poll.poll(due_s * 1000):
                _do(index, receive(requests))
                done += 1
                if not index.uncommitted:  # pages that are not to be found: nothing is left of it
                    send(replies, [str(done).encode()])
            if index.uncommitted and clock.monotonic() - committed_at >= every_s:
                index.commit()
                committed_at = clock.monotonic()
                send(replies, [str(done).encode()])
    finally:
        index.close()


def _do(index: LiveIndex, message: list[bytes]) -> None:
    kind, *parts = message
    if kind == ADD:
        index.add(unpack_table(parts[0]), unpack_table(parts[1]))
    elif kind == REMOVE:
        index.remove(json.loads(parts[0]))
    elif kind == MISS:
        index.miss(parts[0].decode())
    else:
        index.read(parts[0].decode())
