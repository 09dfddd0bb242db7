"""Conditional writes in fsspec's memory, which has none of its own: the tests' store."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class MemoryVersions:
    """What `VersionFence` asks of a store: a version is the content itself."""

    files: Any

    def read(self, path: str) -> tuple[bytes | None, bytes | None]:
        try:
            data = bytes(self.files.cat_file(path))
        except FileNotFoundError:
            return None, None
        return data, data

    def replace(self, path: str, data: bytes, version: bytes | None) -> tuple[bool, bytes | None]:
        with one_at_a_time:
            if self.read(path)[1] != version:
                return False, None
            self.files.pipe_file(path, data)
            return True, data

    def delete(self, path: str, version: bytes) -> bool:
        with one_at_a_time:
            if self.read(path)[1] != version:
                return False
            self.files.rm_file(path)
            return True
