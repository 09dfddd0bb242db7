"""A file that one process owns, until it ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from threading import Lock

from crawl.errors import Locked, StorageError

_owned: set[Path] = set()
_owned_lock = Lock()


class OwnerLock:
    """Held from its making to its closing. The system gives it back when the process is killed,
    and its children do not have it. The file stays, with the process's number in it."""

    def __init__(self, file: Path, owned: Path) -> None:
        """Locked where another has it, naming what is `owned` and by whom."""
        self._file = file.resolve()
        with _owned_lock:
            # the system's lock is one of processes, and has no second owner within one
            if self._file in _owned:
                raise _locked(owned, str(os.getpid()))
            try:
                self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise StorageError(f"{self._file}: {error.strerror}") from error
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.truncate(self._descriptor, 0)
                os.write(self._descriptor, b"%d\n" % os.getpid())
            except BlockingIOError:
                owner = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
                os.close(self._descriptor)
                raise _locked(owned, owner if owner.isdigit() else "") from None
            except OSError as error:
                os.close(self._descriptor)
                raise StorageError(f"{self._file}: {error.strerror}") from error
            _owned.add(self._file)

    def close(self) -> None:
        """Lets another have it."""
        with _owned_lock:
            if self._file in _owned:
                os.close(self._descriptor)
                _owned.remove(self._file)


def owner_of(file: Path) -> int | None:
    """The number of the process that had the file last, which may have ended; None where that is
    not known."""
    try:
        text = file.read_text("ascii", "replace")[:32].strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def _locked(owned: Path, owner: str) -> Locked:
    who = f"process {owner}" if owner else "another process"
    return Locked(f"{owned} belongs to {who}, which is at work on it; one service may use it")
