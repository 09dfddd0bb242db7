"""A file that a user names for what a command finds: checked before the work, written after it."""

from __future__ import annotations

from crawl.errors import StorageError, UsageError
from crawl.storage.folder import Folder, absolute, split_address
from crawl.storage.lock import LOCK_NAME


def output_place(address: str) -> tuple[Folder, str]:
    """The folder of a file and its name; UsageError where a folder is in the way."""
    folder, name = split_address(absolute(address))
    if not name or address.endswith("/") or (folder.exists(name) and folder.size(name) is None):
        raise UsageError(f"{address} is a folder: name a file")
    return folder, name


def check_output_file(address: str) -> None:
    """Raises what would keep the file from being written, so that nobody works for hours in vain:
    UsageError for a folder, StorageError for a place where nothing can be written. A folder
    that is not there yet is made, and half a file that a dead command left is deleted."""
    folder, name = output_place(address)
    probe = f".{name}.writable"
    try:
        if folder.is_local():  # what was left by whoever died here
            for each in (name, probe, f"{name}.{LOCK_NAME}"):
                folder.drop_uploads(each)
        folder.write(probe, b"")
        folder.delete(probe)
    except StorageError as error:
        why = str(error).removeprefix(f"{folder.path(probe)}: ")
        raise StorageError(f"{address} cannot be written: {why}") from error


def write_output_file(address: str, data: bytes) -> None:
    """Writes the file in one moment: whoever dies on the way leaves what was there before."""
    folder, name = output_place(address)
    folder.write(name, data)
