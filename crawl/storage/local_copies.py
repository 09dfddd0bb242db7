"""Folders of a store on this machine's disk, for libraries that can read and write nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

from crawl.storage.folder import Folder

_BLOCK = 1 << 20


def fetch_tree(folder: Folder, path: Path) -> None:
    """Copies every file below a folder to this disk."""
    path.mkdir(parents=True, exist_ok=True)
    for name in folder.files():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with folder.open_read(name) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink, _BLOCK)


def send_tree(path: Path, folder: Folder) -> None:
    """Copies every file below a path of this disk to a folder."""
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        name = file.relative_to(path).as_posix()
        with file.open("rb") as source, folder.open_write(name) as sink:
            shutil.copyfileobj(source, sink, _BLOCK)
