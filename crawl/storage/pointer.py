"""A small JSON file that is replaced as one: what makes a publication atomic.

No rename is needed and none is trusted. Before the file is overwritten its present
content goes to a twin; whoever finds the file torn (a crash, or a reader in the middle
of a write) reads the twin, which is the last good state.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from crawl.errors import StorageError
from crawl.storage.folder import Folder


class Pointer:
    """A checksummed JSON object under one name in a folder."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._name = name
        self._twin = f"{name}.previous"

    def read(self) -> dict[str, Any] | None:
        """The newest whole content; None where nothing was ever written."""
        raw = self._folder.read(self._name)
        content = _unseal(raw)
        if content is not None:
            return content
        twin = self._folder.read(self._twin)
        content = _unseal(twin)
        if content is not None:
            return content
        if raw and twin:
            raise StorageError(f"{self._folder.path(self._name)} and its twin are both damaged")
        # a first write that was cut short published nothing
        return None

    def write(self, content: dict[str, Any]) -> None:
        """Replaces the content."""
        whole = self._folder.read(self._name)
        if whole is not None and _unseal(whole) is not None:
            self._folder.write(self._twin, whole)
        self._folder.write(self._name, _seal(content))


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
