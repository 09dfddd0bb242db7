"""A small sealed file that is replaced as one, and its copy: what makes a publication atomic
and survives the loss of either.

Both have the same content. The file is written first, then the copy: a crash in between
leaves the new content and, in the copy, the former one, and the next writer (`heal`, before
it deletes anything) brings the copy up to date. Only the first content of all goes to the
copy first. So at every moment one of the two is whole, also where a write can tear.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from crawl.errors import DamagedFile
from crawl.storage.filesystems.fences import FencedOff
from crawl.storage.folder import Folder
from crawl.storage.sealed import bears_seal, seal, unseal

COPY = ".copy"
"""Added to the file's name."""

_LOOKS = 5
"""How often a reader starts again: each time a writer must have made a whole write."""

_log = logging.getLogger(__name__)
_reported_paths: set[str] = set()
"""Files that were read from their copies: each is reported once."""


@dataclass(frozen=True, slots=True)
class SealedCopy:
    """One of the two files as it was found."""

    raw: bytes | None
    content: dict[str, Any] | None = None
    fault: str = ""
    """What is wrong with it; empty where it is whole or absent."""


class SealedFile:
    """A sealed JSON object under one name in a folder, and its copy."""

    def __init__(self, folder: Folder, name: str, *, unsealed: bool = True) -> None:
        self._folder = folder
        self._unsealed = unsealed
        self.name = name
        self.copy = name + COPY

    def read(self) -> dict[str, Any] | None:
        """The content; None where nothing was ever written. Says in one line where it had to
        be read from the copy."""
        content, is_copy = self.look()
        if is_copy:
            self.warn_of_copy()
        return content

    def warn_of_copy(self) -> None:
        """Says, once, that the file was read from its copy."""
        path = self._folder.path(self.name)
        if path not in _reported_paths:
            _reported_paths.add(path)
            _log.warning(
                "%s is damaged or missing and was read from its copy;"
                " the next command that writes there, or `crawl check --repair`, mends it",
                path,
            )

    def look(self) -> tuple[dict[str, Any] | None, bool]:
        """The content, and whether it is the copy's because the file itself is not whole."""
        for _ in range(_LOOKS):
            file = self.state_of(self.name)
            if file.content is not None and bears_seal(file.raw or b""):
                return file.content, False
            copy = self.state_of(self.copy)
            if file.content is not None and copy.content is None:
                return file.content, False  # of a former release, which made no copies
            if copy.content is not None:
                # a first write may have come to its end since
                is_copy = self.state_of(self.name).content != copy.content
                return copy.content, is_copy
            if file.raw is None and copy.raw is None:
                return None, False
            # no crash tears both, but a writer may have gone on between the two looks
        if file.raw is None:
            return None, False  # a first write that was cut short published nothing
        raise DamagedFile(self._folder.path(self.name), file.fault)

    def state_of(self, name: str) -> SealedCopy:
        """The file or its copy as it is."""
        raw = self._folder.read(name)
        if raw is None:
            return SealedCopy(None)
        try:
            return SealedCopy(raw, unseal(raw, unsealed=self._unsealed))
        except ValueError as error:
            return SealedCopy(raw, None, str(error))

    def write(self, content: dict[str, Any]) -> None:
        """Replaces the content."""
        sealed = seal(content)
        if self.look()[0] is None:
            self._folder.write(self.copy, sealed)
            self._folder.write(self.name, sealed)
            return
        self.heal()
        self._folder.write(self.name, sealed)
        # it is published with that: whoever takes the lock over now mends the copy
        try:
            self._folder.write(self.copy, sealed)
        except FencedOff:
            # a former holder that slept may have mended it since it was read
            self._folder.read_anew(self.copy)
            with suppress(FencedOff):
                self._folder.write(self.copy, sealed)

    def guarded(self, folder: Folder) -> SealedFile:
        """The same file for the holder of a lock, whose folder writes behind a fence."""
        return SealedFile(folder, self.name, unsealed=self._unsealed)

    def pin(self) -> None:
        """Has the holder of a lock replace both files as they are now."""
        self._folder.read_anew(self.name)
        self._folder.read_anew(self.copy)

    def heal(self) -> bool:
        """Makes both files whole and the same, if one of them is; says whether that was
        needed. Only for whoever has the right to write there."""
        content, is_copy = self.look()
        if content is None:
            return False
        if is_copy:
            self._folder.write(self.name, seal(content))
        elif self.state_of(self.copy).content == content:
            return False
        else:
            # Too late where somebody else has mended it; or has taken the lock over, and then the
            # file itself, by which all readers go, cannot be written either.
            with suppress(FencedOff):
                self._folder.write(self.copy, seal(content))
        return True
