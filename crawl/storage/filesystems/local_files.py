"""Files on a local disk that appear whole or not at all.

The bytes go to an unfinished file beside the name, which is then renamed. So a file that is
there was finished, and one that is short was damaged; no reader ever meets half a file.

Whoever writes an unfinished file holds the system's lock on it (flock) until it has its name, and
a process that dies gives it back: so what dead writers left can be told from what living ones
write, and is deleted by anybody at any time.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_UNFINISHED = ".unfinished"
_ATTEMPTS = 5
"""How often a write is tried: a clean-up may take a file for a dead writer's that is being made."""


def is_unfinished(path: str) -> bool:
    return path.endswith(_UNFINISHED) and path.rpartition("/")[2].startswith(".")


def unfinished(path: str) -> str:
    """A name beside `path` that no other writer uses; hidden, also from Spark."""
    parent, _, name = path.rpartition("/")
    return f"{parent}/.{name}.{uuid.uuid4().hex[:8]}{_UNFINISHED}"


def write(files: Any, path: str, data: bytes) -> None:
    """Replaces the file in one moment."""
    _placed(files, path, data, lambda name: Path(name).replace(path))


def create(files: Any, path: str, data: bytes) -> None:
    """Writes the file unless there is one; raises FileExistsError where there is."""
    _placed(files, path, data, lambda name: _link(files, name, path, data))


def _placed(files: Any, path: str, data: bytes, place: Callable[[str], object]) -> None:
    """Writes the bytes under another name, which `place` makes the file's own."""
    for attempt in range(_ATTEMPTS):
        try:
            with written(files, path, data) as name:
                place(name)
            break
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1:
                raise
    settle_folder(path)


@contextmanager
def open_whole(files: Any, path: str) -> Iterator[IO[bytes]]:
    """A file of any size that has its name when the block ends without a fault."""
    with _held(files, path) as (name, stream):
        yield stream
        stream.close()
        Path(name).replace(path)
        settle_folder(path)


def remove_folder(path: str) -> None:
    """Deletes a folder that is empty."""
    with suppress(OSError):
        Path(path).rmdir()


def drop_unfinished(path: str) -> int:
    """Deletes what dead writers left below, or beside a file of this name; says how many files
    that were."""
    dropped = 0
    for folder, _, names in os.walk(path):
        dropped += sum(_drop_if_dead(Path(folder, name)) for name in filter(is_unfinished, names))
    parent, name = Path(path).parent, Path(path).name
    with suppress(OSError):
        beside = [each for each in parent.iterdir() if _is_unfinished_of(name, each.name)]
        dropped += sum(map(_drop_if_dead, beside))
    return dropped


def _is_unfinished_of(name: str, other: str) -> bool:
    tail = other.removeprefix(f".{name}.")
    return tail != other and len(tail) == 8 + len(_UNFINISHED) and is_unfinished(other)


def _drop_if_dead(file: Path) -> bool:
    """Deletes an unfinished file that nobody holds; whether it did."""
    with suppress(OSError), file.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.unlink()
        return True
    return False


def settle(stream: IO[bytes]) -> None:
    """Waits until the disk has all that was written."""
    stream.flush()
    os.fsync(stream.fileno())


@contextmanager
def written(files: Any, path: str, data: bytes) -> Iterator[str]:
    """The bytes under another name, which is gone at the end if it was not renamed."""
    with _held(files, path) as (name, stream):
        stream.write(data)
        settle(stream)
        stream.close()
        yield name


@contextmanager
def _held(files: Any, path: str) -> Iterator[tuple[str, IO[bytes]]]:
    """An unfinished file that nobody takes for a dead writer's, and its stream; the file is gone at
    the end if it was not renamed."""
    name, stream, holder = _begun(files, path)
    try:
        with stream:
            yield name, stream
    finally:
        os.close(holder)
        with suppress(OSError):
            Path(name).unlink()


def _begun(files: Any, path: str) -> tuple[str, IO[bytes], int]:
    """A new unfinished file, its stream, and a descriptor that holds it beyond the stream's end."""
    for _ in range(_ATTEMPTS):
        name = unfinished(path)
        stream = files.open(name, "wb")
        holder = os.dup(stream.fileno())
        with suppress(OSError):  # a disk without such locks, on which nothing is dropped
            fcntl.flock(holder, fcntl.LOCK_EX)
        if Path(name).exists():
            break
        stream.close()  # somebody dropped it between its creation and the lock
        os.close(holder)
    else:
        raise FileNotFoundError(path)
    return name, stream, holder


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
