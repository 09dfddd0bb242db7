"""The folders and files that a service has open, and whether they are still where it found them.

What is written into a folder that was moved away is written into nothing that the next service
reads, and what is written by its name into a folder that has taken its place damages that one. So a
service whose place is lost takes nothing on, stores nothing more and ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from crawl.errors import StorageError


class PlaceLost(StorageError):
    """A folder or file of the service was moved away, removed or replaced beneath it."""

    may_pass = False


def place_of(folder: Path) -> tuple[int, int]:
    """What tells a folder from one that takes its place, for another process. Whoever asks keeps
    it open."""
    try:
        found = folder.stat()
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror}") from error
    return found.st_dev, found.st_ino


def require_place(folder: Path, place: tuple[int, int]) -> None:
    """Raises PlaceLost where the folder is no longer that one."""
    if place_of(folder) != place:
        raise PlaceLost(f"{folder} was replaced while the service ran")


class OpenPlaces:
    """Looked at by several threads, until it is closed."""

    def __init__(self, folders: Iterable[Path], files: Iterable[Path]) -> None:
        """The files must be open already, and stay so: what is open keeps its number. The folders
        are opened here. Raises StorageError where one is not there."""
        self._known: dict[Path, os.stat_result] = {}
        self._opened: list[int] = []
        try:
            for folder in folders:
                self._opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                self._known[folder] = os.fstat(self._opened[-1])
            for file in files:
                # not opened: a second descriptor that is closed would let go of SQLite's locks
                self._known[file] = file.stat()
        except OSError as error:
            self.close()
            raise StorageError(f"{error.filename}: {error.strerror}") from error

    def require(self) -> None:
        """Raises PlaceLost where one of them is gone or another, and StorageError where that
        cannot be found out now."""
        for path, known in self._known.items():
            try:
                found = path.stat()
            except (FileNotFoundError, NotADirectoryError):
                raise PlaceLost(
                    f"{path} was moved away or removed while the service ran; what it acknowledged"
                    " is where that is now: move it back, or serve it there"
                ) from None
            except OSError as error:
                raise StorageError(f"{path}: {error.strerror}") from error
            if not os.path.samestat(found, known):
                raise PlaceLost(
                    f"{path} was replaced while the service ran, which had opened what was there"
                    " before; start it again to serve what is there now"
                )

    def close(self) -> None:
        """Lets go of the folders; nothing is looked at any more."""
        self._known = {}
        while self._opened:
            os.close(self._opened.pop())
