"""The folder of an export.

    OUT/_EXPORT          says that this folder is an export's, whole or not
    OUT/data/part-…      the records (or HOST/PATH-HASH.md)
    OUT/gone/part-…      pages that are gone, where the format has no place for them
    OUT/manifest.json    the files, and what they are of
    OUT/_SUCCESS         written last: without it the export is not whole

Attempts of tasks that nobody told about are deleted before the end. Nothing is deleted in a folder
that does not say that it is an export's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from crawl.errors import UsageError
from crawl.phases.export.tasks.part import DATA, GONE
from crawl.storage.folder import Folder
from crawl.storage.lock import CHANGE_NAME, LOCK_NAME

MARK, MANIFEST, SUCCESS = "_EXPORT", "manifest.json", "_SUCCESS"
_OURS = frozenset((MARK, MANIFEST, SUCCESS, DATA, GONE, LOCK_NAME, CHANGE_NAME))
_LOCKS = frozenset((LOCK_NAME, CHANGE_NAME))
_VERSION = 1


def require_room(output: Folder, *, overwrite: bool) -> None:
    """Raises UsageError where the folder holds anything that may not be replaced: an export
    that was interrupted may, a whole one if that is asked for, and nobody's other files ever."""
    if output.size("") is not None:
        raise UsageError(f"{output.address} is a file: an export is a folder")
    names = set(output.names()) - _LOCKS
    if not names:
        return
    if MARK not in names or names - _OURS:
        raise UsageError(f"{output.address} is not empty, and holds other files than an export's")
    if SUCCESS in names and not overwrite:
        raise UsageError(
            f"{output.address} holds an export: choose another folder, or --overwrite it"
        )


def make_room(output: Folder) -> None:
    """Deletes what an earlier export left, half files too, and marks the folder as an export's
    that is not whole. Only behind `require_room`, and under the folder's lock."""
    for name in (SUCCESS, MANIFEST, DATA, GONE):
        if output.exists(name):
            output.delete(name)
    output.drop_uploads()
    output.write(MARK, json.dumps({"nutria_export": _VERSION}).encode() + b"\n")


def sweep(output: Folder, below: str, paths: Iterable[str]) -> int:
    """Deletes the files of attempts that are not known; returns how many."""
    named = set(paths)
    stray = [path for path in output.files(below) if f"{below}/{path}" not in named]
    for path in stray:
        output.delete(f"{below}/{path}")
    return len(stray)


def publish(output: Folder, manifest: Mapping[str, Any]) -> None:
    """Makes the export whole."""
    text = json.dumps({"nutria_export": _VERSION, **manifest}, indent=1, default=str)
    output.write(MANIFEST, text.encode() + b"\n")
    output.write(SUCCESS, b"")
