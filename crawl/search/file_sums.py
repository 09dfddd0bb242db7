"""The sizes and checksums of the files of an index's folder: whether it is as it was written.

    nutria-files.json   {"meta.json": [1234, 567890], "nutria-index.json": [40, 123456], …}

The list is written when a folder's writer is closed, and names every file but itself. Its own size
and checksum are kept by whoever publishes the folder (the ledger of an index, which is sealed): so
neither the list nor a whole folder can be exchanged for another, however whole that is in itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from crawl.errors import StorageError
from crawl.hints import index_anew
from crawl.storage.file_sum import FileSum, sum_of_bytes
from crawl.storage.folder import Folder

FILES_FILE = "nutria-files.json"
FORMAT_FILE = "nutria-index.json"
"""Which format the folder is of."""
_META = "meta.json"
META_FILES = (_META, ".managed.json")
"""All others are never changed once they are there."""
_ALWAYS = (*META_FILES, FORMAT_FILE)
"""Beside the files of tantivy's segments."""
_LOCKS = (".tantivy-writer.lock", ".tantivy-meta.lock")
_SMALL_BYTES = 8 << 20
"""Of a folder: they are summed up in a few milliseconds."""


def is_passing(name: str) -> bool:
    """Whether a file is only for the time of a writer."""
    return name in _LOCKS or name.startswith(".tmp")


def require_whole(folder: str, expected: FileSum | None = None, *, deep: bool = False) -> None:
    """Raises where a file of a folder is not as it was written."""
    fault = folder_fault(Folder(folder), expected, deep=deep)
    if fault:
        raise StorageError(f"the index in {folder} is damaged: {fault}: {index_anew()}")


def folder_fault(folder: Folder, expected: FileSum | None = None, *, deep: bool = False) -> str:
    """What is wrong with the files of a folder whose writer was closed; empty where nothing is.
    Their sizes are looked at, and all bytes where it is to be `deep` or takes a moment only.
    `expected` is the sum of the list, where one was kept."""
    try:
        raw = folder.read(FILES_FILE)
        if raw is None:
            return "" if expected is None else "the list of its files is missing"
        if expected is not None and sum_of_bytes(raw) != expected:
            return f"{FILES_FILE} is not the list that was written: it is damaged or another's"
        return _files_fault(folder, _listed(raw), deep=deep)
    except (StorageError, OSError, ValueError) as error:
        return " ".join(str(error).split())


def _files_fault(folder: Folder, sums: Mapping[str, FileSum], *, deep: bool) -> str:
    there = folder.files()
    deep = deep or sum(each.bytes for each in sums.values()) <= _SMALL_BYTES
    for name, noted in sums.items():
        if name not in there:
            return f"{name} is missing"
        if there[name] != noted.bytes:
            return f"{name} has {there[name]:,} bytes and should have {noted.bytes:,}"
        if (deep or name in META_FILES) and FileSum.of_file(folder, name) != noted:
            return f"the checksum of {name} is wrong"
    return ""


def has_noted_files(folder: Folder) -> bool:
    """Whether the writer of a folder was closed."""
    return folder.exists(FILES_FILE)


def list_sum(folder: str) -> FileSum | None:
    """The sum of the list of a folder on this machine's disk; None where there is none."""
    raw = Folder(folder).read(FILES_FILE) if Path(folder).is_dir() else None
    return None if raw is None else sum_of_bytes(raw)


def noted_files(folder: str) -> dict[str, FileSum] | None:
    """The sum of each file; None where nobody noted them."""
    raw = Folder(folder).read(FILES_FILE)
    return None if raw is None else _listed(raw)


def _listed(raw: bytes) -> dict[str, FileSum]:
    try:
        return msgspec.json.decode(raw, type=dict[str, FileSum])
    except msgspec.DecodeError as error:
        raise ValueError(f"{FILES_FILE} cannot be read") from error


def note_files(folder: str, sums: Mapping[str, FileSum]) -> None:
    """Notes the files of what was committed; those that are never changed only once."""
    here = Folder(folder)
    meta = json.loads(here.read(_META) or b"")
    noted: dict[str, FileSum] = {}
    for name in here.names():
        if name in _ALWAYS or _is_committed(name, meta):
            is_known = name in sums and name not in META_FILES
            noted[name] = sums[name] if is_known else FileSum.of_file(here, name)
    write_atomically(Path(folder) / FILES_FILE, json.dumps(noted).encode())


def _is_committed(name: str, meta: Mapping[str, Any]) -> bool:
    """Whether a file is of a segment that tantivy's own list names: others are of a writer that
    gave up, or wait for being deleted."""
    for segment in meta["segments"]:
        if name.startswith(segment["segment_id"].replace("-", "")):
            deletes = segment.get("deletes") or {}
            return not name.endswith(".del") or name.endswith(f".{deletes.get('opstamp')}.del")
    return False


def write_atomically(path: Path, data: bytes) -> None:
    part = path.with_name(f".tmp-{path.name}.{os.getpid()}")
    with part.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
