"""A small JSON file that is replaced as one: what makes a publication atomic.

No rename is needed and none is trusted. Before the file is overwritten its present
content goes to a twin (a first content of all goes there too), so that at every moment
one of the two is whole; whoever finds the file torn, by a crash or in the middle of a
write, reads the twin.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from crawl.errors import StorageError
from crawl.storage.folder import Folder

_LOOKS = 5
"""How often a reader starts again: each time a writer must have made a whole write."""


class Pointer:
    """A checksummed JSON object under one name in a folder."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._name = name
        self._twin = f"{name}.previous"

    def read(self) -> dict[str, Any] | None:
        """The newest whole content; None where nothing was ever written."""
        for _ in range(_LOOKS):
            raw = self._folder.read(self._name)
            content = _unseal(raw)
            if content is not None:
                return content
            twin = self._folder.read(self._twin)
            content = _unseal(twin)
            if content is not None or (raw is None and twin is None):
                return content
            # no crash tears both, but a writer may have gone on between the two looks
        if raw is None:
            return None  # a first write that was cut short published nothing
        raise self._damaged()

    def write(self, content: dict[str, Any]) -> None:
        """Replaces the content."""
        sealed = _seal(content)
        present = self._folder.read(self._name)
        if present is not None and _unseal(present) is not None:
            self._folder.write(self._twin, present)
        elif _unseal(self._folder.read(self._twin)) is None:
            if present is not None:
                raise self._damaged()
            self._folder.write(self._twin, sealed)
        self._folder.write(self._name, sealed)

    def _damaged(self) -> StorageError:
        return StorageError(f"{self._folder.path(self._name)} and its twin are both damaged")


def _seal(content: dict[str, Any]) -> bytes:
    body = json.dumps(content, sort_keys=True)
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    return (body + "\n" + digest + "\n").encode()


def _unseal(raw: bytes | None) -> dict[str, Any] | None:
    if not raw:
        return None
    body, _, rest = raw.decode(errors="replace").partition("\n")
    if rest.strip() != hashlib.sha256(body.encode()).hexdigest()[:16]:
        return None
    content: dict[str, Any] = json.loads(body)
    return content
