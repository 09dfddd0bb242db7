"""A child process that kills itself at the n-th write to storage, for kill tests; or at the
n-th of a kind, where there are many of a kind."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any, cast

from crawl.storage.filesystems.local_files import unfinished
from crawl.storage.folder import Folder

CUT_METHODS = ("write", "create", "delete", "remove", "open_write")
"""Of Folder: those in or behind which a process can be killed."""

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.phases.warm"])


@dataclass(frozen=True, slots=True)
class Moment:
    """The n-th write of a kind: `write CURRENT, torn`."""

    kind: str
    number: int

    def is_kind_of(self, write: Write) -> bool:
        return write.kind == self.kind


@dataclass(frozen=True, slots=True)
class At:
    """The n-th change of a kind at a place: `write`, `crawldb/CURRENT`. The place is the end of a
    path, with * for what differs. Nothing that follows the change has begun; `torn`: nor has
    the change been done."""

    operation: str
    place: str
    torn: bool = False
    number: int = 1

    def is_kind_of(self, write: Write) -> bool:
        return (write.operation, write.torn) == (self.operation, self.torn) and fnmatchcase(
            write.path, f"*/{self.place}"
        )


@dataclass(frozen=True, slots=True)
class Write:
    """A change to storage, or the middle of one."""

    operation: str
    """write, create, delete (about to be done), file, append."""
    path: str
    torn: bool = False

    @property
    def kind(self) -> str:
        return f"{self.operation} {_kind_of(self.path)}{', torn' if self.torn else ''}"


def run_killed(job: Callable[..., object], *arguments: Any, at: int | Moment | At) -> bool:
    """Runs the job in a process that dies at its `at`-th write; whether it was killed."""
    child = _context.Process(target=_dying, args=(job, arguments, at))
    child.start()
    child.join()
    if child.exitcode == -signal.SIGKILL:
        return True
    assert child.exitcode == 0, f"the child ended with {child.exitcode}"
    return False


def run_killed_after(job: Callable[..., object], *arguments: Any, seconds: float) -> bool:
    """Runs the job in a process that is killed after so many seconds; whether it was."""
    child = _context.Process(target=job, args=arguments)
    child.start()
    child.join(seconds)
    child.kill()
    child.join()
    if child.exitcode == -signal.SIGKILL:
        return True
    assert child.exitcode == 0, f"the child ended with {child.exitcode}"
    return False


def writes_of(job: Callable[..., object], *arguments: Any) -> Counter[str]:
    """How many writes of each kind the job makes; it is done with that."""
    return Counter(write.kind for write in writes_in_order(job, *arguments))


def writes_in_order(job: Callable[..., object], *arguments: Any) -> list[Write]:
    """The writes that the job makes; it is done with that."""
    answer = _context.SimpleQueue()
    child = _context.Process(target=_recording, args=(job, arguments, answer))
    child.start()
    found: list[Write] = answer.get()
    child.join()
    assert child.exitcode == 0, f"the child ended with {child.exitcode}"
    return found


def moments(writes: Mapping[str, int], seed: int) -> list[Moment]:
    """Of every kind the first, the last and one by chance."""
    chance = random.Random(seed)
    return [
        Moment(kind, number)
        for kind, count in sorted(writes.items())
        for number in sorted({1, chance.randint(1, count), count})
    ]


def _dying(job: Callable[..., object], arguments: tuple[Any, ...], at: int | Moment | At) -> None:
    left = at if isinstance(at, int) else at.number
    one_at_a_time = threading.Lock()

    def is_now(write: Write) -> bool:
        nonlocal left
        if not isinstance(at, int) and not at.is_kind_of(write):
            return False
        with one_at_a_time:
            left -= 1
            return left == 0

    _cut_by(is_now)
    job(*arguments)


def _recording(job: Callable[..., object], arguments: tuple[Any, ...], answer: Any) -> None:
    met: list[Write] = []

    def is_now(write: Write) -> bool:
        met.append(write)
        return False

    _cut_by(is_now)
    try:
        job(*arguments)
    finally:
        answer.put(met)


def _cut_by(is_now: Callable[[Write], bool]) -> None:
    """Has this process die as soon as that says so: in the middle of a write, or after it."""
    write, create, delete = Folder.write, Folder.create, Folder.delete
    open_write = Folder.open_write
    remove = getattr(Folder, "remove", None)

    def torn_write(self: Folder, name: str, data: bytes) -> None:
        path = self.path(name)
        if is_now(Write("write", path, torn=True)):
            _leave_unfinished(self, name, data)
            _die()
        write(self, name, data)
        if is_now(Write("write", path)):
            _die()

    def torn_create(self: Folder, name: str, data: bytes) -> bool:
        path = self.path(name)
        if is_now(Write("create", path, torn=True)):
            _leave_unfinished(self, name, data)
            _die()
        is_created = create(self, name, data)
        if is_created and is_now(Write("create", path)):
            _die()
        return is_created

    def no_delete(self: Folder, name: str) -> None:
        if is_now(Write("delete", self.path(name))):
            _die()
        delete(self, name)

    def no_remove(self: Folder, name: str) -> bool:
        if is_now(Write("delete", self.path(name))):
            _die()
        assert remove is not None
        return bool(remove(self, name))

    @contextmanager
    def torn_open(self: Folder, name: str, **how: bool) -> Iterator[IO[bytes]]:
        path = self.path(name)
        with open_write(self, name, **how) as stream:
            grows = name.endswith(".notes")
            yield cast(IO[bytes], _Growing(stream, path, is_now)) if grows else stream
            if is_now(Write("file", path, torn=True)):
                stream.flush()
                _die()
        if is_now(Write("file", path)):
            _die()

    Folder.write, Folder.create, Folder.delete = torn_write, torn_create, no_delete  # type: ignore
    Folder.open_write = torn_open  # type: ignore
    if remove is not None:
        Folder.remove = no_remove  # type: ignore


class _Growing:
    """A file that grows and is to be read at any time: the journal's."""

    def __init__(self, stream: IO[bytes], path: str, is_now: Callable[[Write], bool]) -> None:
        self._stream = stream
        self._path = path
        self._is_now = is_now

    def write(self, data: Any) -> int:
        if self._is_now(Write("append", self._path, torn=True)):
            self._stream.write(data[: len(data) // 2])
            self._stream.flush()
            _die()
        return self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()
        if self._is_now(Write("append", self._path)):
            _die()


def _leave_unfinished(folder: Folder, name: str, data: bytes) -> None:
    """What a death in the middle of a small write leaves: half of it beside the name on a
    local disk, and nothing on a store."""
    if folder.is_local():
        path = Path(unfinished(folder.path(name)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[: len(data) // 2])


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_kind(folder: Folder, name: str) -> str:
    """The end of a path without its numbers."""
    return _kind_of(folder.path(name))


def _kind_of(path: str) -> str:
    return _NUMBER.sub("#", "/".join(path.split("/")[-3:]))


_NUMBER = re.compile(r"[0-9a-f]{8,}|[0-9]+")
