"""Files on a local disk that appear whole or not at all.

The bytes go to an unfinished file beside the name, which is then renamed. So a file that is
there was finished, and one that is short was damaged; no reader ever meets half a file.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_UNFINISHED = ".unfinished"
_ATTEMPTS = 5
"""How often a write is tried: a clean-up may take a living writer's file for a dead one's."""


def is_unfinished(path: str) -> bool:
    return path.endswith(_UNFINISHED) and path.rpartition("/")[2].startswith(".")


def unfinished(path: str) -> str:
    """A name beside `path` that no other writer uses; hidden, also from Spark."""
    parent, _, name = path.rpartition("/")
    return f"{parent}/.{name}.{uuid.uuid4().hex[:8]}{_UNFINISHED}"


def write(files: Any, path: str, data: bytes) -> None:
    """Replaces the file in one moment."""
    for attempt in range(_ATTEMPTS):
        try:
            with written(files, path, data) as name:
                Path(name).replace(path)
            break
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1:
                raise
    settle_folder(path)


def create(files: Any, path: str, data: bytes) -> None:
    """Writes the file unless there is one; raises FileExistsError where there is."""
    for attempt in range(_ATTEMPTS):
        try:
            with written(files, path, data) as name:
                _link(files, name, path, data)
            break
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1:
                raise
    settle_folder(path)


@contextmanager
def open_whole(files: Any, path: str) -> Iterator[IO[bytes]]:
    """A file of any size that has its name when the block ends without a fault."""
    name = unfinished(path)
    try:
        with files.open(name, "wb") as stream:
            yield stream
        Path(name).replace(path)
        settle_folder(path)
    finally:
        with suppress(OSError):
            Path(name).unlink()


def remove_folder(path: str) -> None:
    """Deletes a folder that is empty."""
    with suppress(OSError):
        Path(path).rmdir()


def drop_unfinished(path: str) -> int:
    """Deletes what dead writers left below; says how many files that were."""
    dropped = 0
    for folder, _, names in os.walk(path):
        for name in filter(is_unfinished, names):
            with suppress(FileNotFoundError):
                Path(folder, name).unlink()
                dropped += 1
    return dropped


def settle(stream: IO[bytes]) -> None:
    """Waits until the disk has all that was written."""
    stream.flush()
    os.fsync(stream.fileno())


@contextmanager
def written(files: Any, path: str, data: bytes) -> Iterator[str]:
    """The bytes under another name, which is gone at the end if it was not renamed."""
    name = unfinished(path)
    try:
        with files.open(name, "wb") as stream:
            stream.write(data)
            settle(stream)
        yield name
    finally:
        with suppress(OSError):
            Path(name).unlink()


def _link(files: Any, name: str, path: str, data: bytes) -> None:
    try:
        os.link(name, path)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:
        # a disk without links: of many who try one succeeds here too, but it may be cut
        with files.open(path, "xb") as stream:
            stream.write(data)
            settle(stream)


def settle_folder(path: str) -> None:
    """Waits until the disk knows the new name, where it can be asked to."""
    with suppress(OSError):
        folder = os.open(path.rpartition("/")[0] or "/", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
