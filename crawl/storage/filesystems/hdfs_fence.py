"""A fence on HDFS: the name node renames in one step, and deletes a folder with all that is in
it in one step."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from crawl.storage.filesystems.hdfs import WRITES, HdfsFiles, unfinished_name


@dataclass(frozen=True, slots=True)
class HdfsRenames:
    """What `RenameFence` asks of a store."""

    files: HdfsFiles

    def open_place(self, place: str) -> None:
        self._make(place)

    def close_place(self, place: str) -> None:
        with suppress(FileNotFoundError):
            self.files.rm(place, recursive=True)

    def places(self, folder: str, prefix: str) -> list[str]:
        try:
            paths = self.files.listed(folder)
        except FileNotFoundError:
            return []
        return [path for path in paths if path.rpartition("/")[2].startswith(prefix)]

    def write_from(self, place: str, path: str, data: bytes) -> bool:
        name = path.rpartition("/")[2]
        for _ in range(WRITES):
            unfinished = unfinished_name(f"{place}/{name}")
            try:
                self.files.ask(partial(self.files.send, unfinished, data, create_parent=False))
                self.files.ask(partial(self.files.client.rename, unfinished, path, True))
            except FileNotFoundError:
                # renamed, and the answer lost; or there is no folder to rename it to yet
                if self.files.holds(path, data):
                    return True
                if not self.files.exists(place):
                    return False
                self._make(path.rpartition("/")[0])
            else:
                return True
        raise FileNotFoundError(path)

    def take_to(self, place: str, path: str) -> bool:
        taken = unfinished_name(f"{place}/taken")
        try:
            self.files.ask(partial(self.files.client.rename, path, taken, False))
        except FileNotFoundError:
            # as above: then it is where it was to go
            return self.files.exists(taken)
        self.files.rm_file(taken)
        return True

    def _make(self, folder: str) -> None:
        self.files.ask(partial(self.files.client.mkdirs, folder, 0o755, True))
