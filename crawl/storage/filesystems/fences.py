"""The fence behind a lock: what makes a late write of somebody who lost it fail in the store.

A process can sleep (SIGSTOP, a paused machine) between its last look at the lock and its write.
So the look is not what protects a publication: the write itself is one that the store refuses
when the right to it is gone. Stores offer two means for that.

A local disk and HDFS rename in one step, and only what is there. Each holder of a lock has a
folder of its own beside it (`.LOCK.holder-TOKEN.unfinished`): it writes there and renames from
there, and takes a lock file away by renaming it to there. Whoever takes the lock over removes
that folder first, and then nothing can come out of it, nor be created in it. Whoever is about to
remove another's lock has such a folder too, by another name: it has no right to write yet, and
whoever gets the lock meanwhile need not care.

An object store compares: a write or a deletion names the version that the writer has seen, and
fails where there is another one. Whoever takes a lock over can change what its former owner may
be about to write (as a dataset does with its pointer), and so make it another version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from crawl.errors import Locked

Version = Any
"""Of one state of a file, for whoever compares; None where there is no file."""


class FencedOff(Locked):
    """A write came too late: the lock behind which it was to be made has another owner."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path}: the lock was taken away while this job ran; nothing was published"
        )


class RenamingStore(Protocol):
    """What a local disk and HDFS do for a fence. `place` is the holder's folder."""

    def open_place(self, place: str) -> None: ...

    def close_place(self, place: str) -> None:
        """Returns when nothing can be created there any more, nor renamed from there."""

    def places(self, folder: str, prefix: str) -> list[str]:
        """The folders of all holders whose names begin so."""

    def write_from(self, place: str, path: str, data: bytes) -> bool:
        """Replaces the file; whether the place was there to do it from."""

    def take_to(self, place: str, path: str) -> bool:
        """Takes the file away; whether it was there, and the place too."""


class ComparingStore(Protocol):
    """What an object store does for a fence."""

    def read(self, path: str) -> tuple[bytes | None, Version]: ...

    def replace(self, path: str, data: bytes, version: Version) -> tuple[bool, Version]:
        """Writes the file if it has that version; whether it did, and the new version."""

    def delete(self, path: str, version: Version) -> bool:
        """Deletes the file if it has that version; whether it did."""


@dataclass(slots=True)
class RenameFence:
    """A fence on a store that renames in one step."""

    store: RenamingStore
    folder: str
    lock: str
    token: str
    is_holder: bool

    def _prefix(self, *, is_holder: bool) -> str:
        return f".{self.lock}.{'holder' if is_holder else 'remover'}-"

    def _place(self, token: str, *, is_holder: bool) -> str:
        return f"{self.folder}/{self._prefix(is_holder=is_holder)}{token}.unfinished"

    @property
    def _own(self) -> str:
        return self._place(self.token, is_holder=self.is_holder)

    def open(self) -> None:
        self.store.open_place(self._own)

    def close(self) -> None:
        self.store.close_place(self._own)

    def shut_out(self, token: str | None) -> None:
        """Ends the right of another holder, or of all others."""
        if token is not None:
            for is_holder in (True, False):
                self.store.close_place(self._place(token, is_holder=is_holder))
            return
        for place in self.store.places(self.folder, self._prefix(is_holder=True)):
            if place != self._own:
                self.store.close_place(place)

    def read(self, path: str, plain: Callable[[], bytes | None]) -> bytes | None:
        return plain()

    def forget(self, path: str) -> None:
        """Nothing: nothing is remembered."""

    def write(self, path: str, data: bytes, plain: Callable[[], None]) -> bool:
        """Replaces the file; False where the right is gone."""
        return self.store.write_from(self._own, path, data)

    def remove(self, path: str) -> bool:
        return self.store.take_to(self._own, path)


@dataclass(slots=True)
class VersionFence:
    """A fence on a store that compares versions: of each file the one that was read first, or
    that was written through the fence since. A file that was never read is written as it is."""

    store: ComparingStore
    versions: dict[str, Version] = field(default_factory=dict)

    def open(self) -> None:
        """Nothing: the versions are the right."""

    def close(self) -> None:
        """Nothing: without a file to write there is no right."""

    def shut_out(self, token: str | None) -> None:
        """Nothing: that is done by changing what the other has seen."""

    def read(self, path: str, plain: Callable[[], bytes | None]) -> bytes | None:
        data, version = self.store.read(path)
        self.versions.setdefault(path, version)
        return data

    def forget(self, path: str) -> None:
        """Has the next read count as the first."""
        self.versions.pop(path, None)

    def write(self, path: str, data: bytes, plain: Callable[[], None]) -> bool:
        """Replaces the file, by `plain` where there is nothing to guard; False where the right
        is gone."""
        if path not in self.versions:
            plain()
            return True
        is_done, version = self.store.replace(path, data, self.versions[path])
        if is_done:
            self.versions[path] = version
        return is_done

    def remove(self, path: str) -> bool:
        version = self.versions.pop(path, None)
        return version is not None and self.store.delete(path, version)


Fence = RenameFence | VersionFence
"""The right of one holder of a lock to change small files."""
