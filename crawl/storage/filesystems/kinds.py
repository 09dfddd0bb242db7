"""What a file system object is, and what `Folder` asks of all kinds alike."""

from __future__ import annotations

import re
from typing import Any

from crawl.storage.filesystems import hdfs, object_store
from crawl.storage.filesystems.fences import Fence, RenameFence, VersionFence
from crawl.storage.filesystems.hdfs_fence import HdfsRenames
from crawl.storage.filesystems.local_fence import LocalRenames
from crawl.storage.filesystems.memory_versions import MemoryVersions


def is_local(file_system: Any) -> bool:
    return "file" in _protocols(file_system)


def is_store(file_system: Any) -> bool:
    return object_store.is_store(_protocols(file_system))


def is_hdfs(file_system: Any) -> bool:
    return not hdfs.SCHEMES.isdisjoint(_protocols(file_system))


def _protocols(file_system: Any) -> tuple[str, ...]:
    protocol = file_system.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def fence_of(file_system: Any, folder: str, lock: str, token: str, *, is_holder: bool) -> Fence:
    """For one who takes the lock of that name in the folder, or removes another's."""
    if is_local(file_system):
        return RenameFence(LocalRenames(file_system), folder, lock, token, is_holder)
    if is_hdfs(file_system):
        return RenameFence(HdfsRenames(file_system), folder, lock, token, is_holder)
    if is_store(file_system):
        return VersionFence(object_store.StoreVersions(file_system))
    return VersionFence(MemoryVersions(file_system))


def is_pattern(path: str) -> bool:
    return re.search(r"[*?\[]", path) is not None


def make_parent(file_system: Any, path: str) -> None:
    parent = path.rpartition("/")[0]
    # on an object store there is no such thing, and "making" one would create a bucket
    if parent and not is_store(file_system):
        file_system.makedirs(parent, exist_ok=True)


def read_small(file_system: Any, path: str) -> bytes | None:
    """A file's bytes; None where there is no such file."""
    with object_store.AllowedAbsence():
        return bytes(file_system.cat_file(path))
    return None


def file_error_line(error: Exception) -> str | None:
    """What a file system's exception means; None for any other exception."""
    match error:
        case FileNotFoundError():
            return "no such file or folder"
        case ValueError() if "null byte" in str(error):
            return "no name that a file can have"
        case PermissionError():
            return "permission denied"
        case NotADirectoryError() | FileExistsError():
            return "a part of the path is a file"
        case OSError() | ImportError():
            return " ".join(str(error).split())
    return None
