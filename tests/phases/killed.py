"""A child process that kills itself at the n-th write to storage, for kill tests."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from crawl.storage.folder import Folder

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.phases.warm"])


def run_killed(job: Callable[..., None], *arguments: Any, at: int) -> bool:
    """Runs the job in a process that dies at its `at`-th write; whether it was killed."""
    child = _context.Process(target=_dying, args=(job, arguments, at))
    child.start()
    child.join()
    if child.exitcode == -signal.SIGKILL:
        return True
    assert child.exitcode == 0, f"the child ended with {child.exitcode}"
    return False


def _dying(job: Callable[..., None], arguments: tuple[Any, ...], at: int) -> None:
    left = at

    def one_less() -> bool:
        nonlocal left
        left -= 1
        return left == 0

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    write, create, delete = Folder.write, Folder.create, Folder.delete
    open_write = Folder.open_write

    def torn_write(self: Folder, name: str, data: bytes) -> None:
        if one_less():
            write(self, name, data[: len(data) // 2])
            die()
        write(self, name, data)
        if one_less():
            die()

    def torn_create(self: Folder, name: str, data: bytes) -> bool:
        if one_less():
            create(self, name, data[: len(data) // 2])
            die()
        return create(self, name, data)

    def no_delete(self: Folder, name: str) -> None:
        if one_less():
            die()
        delete(self, name)

    @contextmanager
    def torn_open(self: Folder, name: str, *, lasting: bool = True) -> Iterator[IO[bytes]]:
        with open_write(self, name, lasting=lasting) as stream:
            yield stream
            if one_less():
                stream.flush()
                die()
        if one_less():
            die()

    Folder.write, Folder.create, Folder.delete = torn_write, torn_create, no_delete  # type: ignore
    Folder.open_write = torn_open  # type: ignore
    job(*arguments)
