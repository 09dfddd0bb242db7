"""A fence on a local disk, or one that is mounted like it: by folders and renames alone, as locks
of the operating system mean little on a network's disk."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawl.storage.filesystems import local_files

_ATTEMPTS = 5
"""How often a write is tried: a clean-up may take a living writer's file for a dead one's."""
_CLOSINGS = 1000
_PAUSE_S = 0.01
_pause = threading.Event()  # never set: a sleep


@dataclass(frozen=True, slots=True)
class LocalRenames:
    """What `RenameFence` asks of a store."""

    files: Any

    def open_place(self, place: str) -> None:
        Path(place).mkdir(parents=True, exist_ok=True)

    def close_place(self, place: str) -> None:
        """A folder that is not empty cannot be removed, and one that is removed gets no files:
        its owner may be at it, so again until it is gone."""
        for _ in range(_CLOSINGS):
            try:
                for file in Path(place).iterdir():
                    file.unlink(missing_ok=True)
                Path(place).rmdir()
            except FileNotFoundError:
                return
            except OSError as error:
                fault = error
                _pause.wait(_PAUSE_S)
        raise fault

    def places(self, folder: str, prefix: str) -> list[str]:
        with suppress(FileNotFoundError):
            return [str(path) for path in Path(folder).iterdir() if path.name.startswith(prefix)]
        return []

    def write_from(self, place: str, path: str, data: bytes) -> bool:
        name = path.rpartition("/")[2]
        for _ in range(_ATTEMPTS):
            try:
                with local_files.written(self.files, f"{place}/{name}", data) as unfinished:
                    Path(unfinished).replace(path)
            except FileNotFoundError:
                if not Path(place).is_dir():
                    return False
            else:
                local_files.settle_folder(path)
                return True
        raise FileNotFoundError(path)

    def take_to(self, place: str, path: str) -> bool:
        taken = local_files.unfinished(f"{place}/taken")
        try:
            Path(path).rename(taken)
        except FileNotFoundError:
            return False
        with suppress(FileNotFoundError):
            Path(taken).unlink()
        return True
