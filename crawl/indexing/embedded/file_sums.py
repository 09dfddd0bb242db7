"""The sizes and checksums of the files of an index's folder: whether it is as it was written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from crawl.errors import StorageError
from crawl.hints import index_anew

FILES_FILE = "nutria-files.json"
"""Written when a folder's writer is closed."""
_META = "meta.json"
META_FILES = (_META, ".managed.json")
"""All others are never changed once they are there."""
_LOCKS = (".tantivy-writer.lock", ".tantivy-meta.lock")
_BLOCK = 1 << 20
_SMALL_BYTES = 8 << 20
"""Of a folder: they are summed up in a few milliseconds."""


def is_passing(name: str) -> bool:
    """Whether a file is only for the time of a writer."""
    return name in _LOCKS or name.startswith(".tmp")


def require_whole(folder: str, *, deep: bool = False) -> None:
    """Raises where a file of a folder is not as it was written."""
    fault = folder_fault(folder, deep=deep)
    if fault:
        raise StorageError(f"the index in {folder} is damaged: {fault}: {index_anew()}")


def folder_fault(folder: str, *, deep: bool = False) -> str:
    """What is wrong with the files of a folder whose writer was closed; empty where nothing is.
    Their sizes are looked at, and all bytes where it is to be `deep` or takes a moment only."""
    try:
        known = noted_files(folder) or {}
        deep = deep or sum(size for size, _ in known.values()) <= _SMALL_BYTES
        for name, (size, crc) in known.items():
            path = Path(folder) / name
            if not path.exists():
                return f"{name} is missing"
            found = path.stat().st_size
            if found != size:
                return f"{name} has {found:,} bytes and should have {size:,}"
            if (deep or name in META_FILES) and _crc(path) != crc:
                return f"the checksum of {name} is wrong"
    except (OSError, ValueError, TypeError) as error:
        return " ".join(str(error).split())
    return ""


def has_noted_files(folder: str) -> bool:
    """Whether the writer of a folder was closed."""
    return (Path(folder) / FILES_FILE).exists()


def noted_files(folder: str) -> dict[str, tuple[int, int]] | None:
    """The size and the checksum of each file; None where nobody noted them."""
    try:
        raw = (Path(folder) / FILES_FILE).read_bytes()
    except FileNotFoundError:
        return None
    try:
        return {str(name): (int(size), int(crc)) for name, (size, crc) in json.loads(raw).items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{FILES_FILE} cannot be read") from error


def note_files(folder: str, known: Mapping[str, tuple[int, int]]) -> None:
    """Notes the files of what was committed; those that are never changed only once."""
    meta = json.loads((Path(folder) / _META).read_bytes())
    noted: dict[str, tuple[int, int]] = {}
    for path in sorted(Path(folder).iterdir()):
        name = path.name
        if name == _META or _is_committed(name, meta):
            is_known = name in known and name not in META_FILES
            noted[name] = known[name] if is_known else (path.stat().st_size, _crc(path))
    write_atomically(Path(folder) / FILES_FILE, json.dumps(noted).encode())


def _is_committed(name: str, meta: Mapping[str, Any]) -> bool:
    """Whether a file is of a segment that tantivy's own list names: others are of a writer that
    gave up, or wait for being deleted."""
    for segment in meta["segments"]:
        if name.startswith(segment["segment_id"].replace("-", "")):
            deletes = segment.get("deletes") or {}
            return not name.endswith(".del") or name.endswith(f".{deletes.get('opstamp')}.del")
    return False


def _crc(path: Path) -> int:
    crc = 0
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            crc = crc32(block, crc)
    return crc


def write_atomically(path: Path, data: bytes) -> None:
    part = path.with_name(f".tmp-{path.name}.{os.getpid()}")
    with part.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
