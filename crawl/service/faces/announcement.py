"""Where the service of a crawl can be asked: a small file beside its queue, for other programs on
this machine that are told the crawl's folder and no address.

It names the process, too, and counts only while that one has the queue: the file of a service that
was killed is passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from crawl.errors import StorageError
from crawl.service.queues.owner_lock import owner_of

_FILE = "address.json"
_LOCK = "queue.sqlite.lock"
_LARGEST = 10_000
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Announcement(msgspec.Struct, frozen=True):
    """A service that can be asked."""

    process: int
    address: str


def address_of(host: str, port: int) -> str:
    """The address by which programs of this machine ask a server that listens there."""
    name = _ANY.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


@contextmanager
def announced(folder: Path, address: str) -> Iterator[None]:
    """Says where the service is while the block lasts; by the process that has the queue."""
    file, fresh = folder / _FILE, folder / f".{_FILE}.{os.getpid()}"
    try:
        fresh.write_bytes(msgspec.json.encode(Announcement(os.getpid(), address)))
        fresh.replace(file)
    except OSError as error:
        raise StorageError(f"{file}: {error.strerror}") from error
    try:
        yield
    finally:
        found = _found(folder)
        # not that of another service, where the folder has been replaced
        if found is not None and found.process == os.getpid():
            with suppress(OSError):
                file.unlink()


def announcement_of(folder: Path) -> Announcement | None:
    """The service that has the queue of this folder; None where it says nothing of itself."""
    found = _found(folder)
    return found if found is not None and found.process == owner_of(folder / _LOCK) else None


def _found(folder: Path) -> Announcement | None:
    try:
        with (folder / _FILE).open("rb") as opened:
            return msgspec.json.decode(opened.read(_LARGEST), type=Announcement)
    except (OSError, msgspec.DecodeError):
        return None
