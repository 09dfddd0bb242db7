"""A file system under which the process is killed at a chosen change, half way through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crawl.storage import folder as folder_module


class Crash(BaseException):
    """Not an Exception: no `except` in the code under test may survive it."""


class Fuse:
    """Burns at the `at`-th change; from then on the process does nothing any more."""

    def __init__(self, at: int, share: float) -> None:
        self.at = at
        self.share = share
        self.changes = 0
        self.burnt = False

    def alive(self) -> None:
        if self.burnt:
            raise Crash

    def burns_now(self) -> bool:
        self.alive()
        self.changes += 1
        self.burnt = self.changes == self.at
        return self.burnt


class CrashingFileSystem:
    """The real file system until the fuse burns; the change of that moment is cut."""

    def __init__(self, real: Any, fuse: Fuse) -> None:
        self._real = real
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        self._fuse.alive()
        return getattr(self._real, name)

    def pipe_file(self, path: str, data: bytes, **options: Any) -> None:
        """As on a store: the file is there whole, or not at all."""
        burns = self._fuse.burns_now()
        if not burns or self._fuse.share > 0.5:
            self._real.pipe_file(path, data, **options)
        if burns:
            raise Crash

    def open(self, path: str, mode: str, **options: Any) -> Any:
        if "r" not in mode and self._fuse.burns_now():
            self._real.open(path, mode, **options).close()
            raise Crash
        return self._real.open(path, mode, **options)

    def rm_file(self, path: str) -> None:
        self._delete(self._real.rm_file, path)

    def rm(self, path: str, **options: Any) -> None:
        self._delete(self._real.rm, path, **options)

    def _delete(self, delete: Any, path: str, **options: Any) -> None:
        burns = self._fuse.burns_now()
        if not burns or self._fuse.share > 0.5:
            delete(path, **options)
        if burns:
            raise Crash


@contextmanager
def crashing(monkeypatch: pytest.MonkeyPatch, at: int, share: float) -> Iterator[Fuse]:
    """Within the block the `at`-th change is cut to its share, and then all is over."""
    fuse = Fuse(at, share)
    real = folder_module._file_system

    def located(address: str) -> tuple[Any, str]:
        file_system, path = real(address)
        return CrashingFileSystem(file_system, fuse), path

    with monkeypatch.context() as patched:
        patched.setattr(folder_module, "_file_system", located)
        yield fuse
