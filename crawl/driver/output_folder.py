"""The folder that a dump is written to: only an empty one, or an older dump's."""

from __future__ import annotations

from collections.abc import Collection

from crawl.errors import UsageError
from crawl.storage.folder import PROBE, Folder, split_address

SUCCESS = "_SUCCESS"
"""Written last: a dump without it is not whole."""


def check_room(output: Folder, *, overwrite: bool, own: Collection[str] = ()) -> list[str]:
    """What is in the folder of a dump that is to be replaced, whose files are parts and those of
    `own`; raises UsageError where there is anything else: nobody's other files are ever
    deleted; and whatever keeps files from being written there: better now than when the work is
    done."""
    above, name = split_address(output.address)
    if name and above.size(name) is not None:
        raise UsageError(f"{output.address} is a file: name a folder")
    names = [name for name in output.names() if name != PROBE]
    dumped = all(name in (SUCCESS, *own) or name.startswith("part-") for name in names)
    if names and not (overwrite and dumped):
        advice = "choose another or use --overwrite" if dumped else "it holds other files"
        raise UsageError(f"{output.address} is not empty: {advice}")
    is_new = not output.exists()
    output.require_writable()
    if is_new:
        output.remove_if_empty()  # what is refused later leaves nothing behind
    return names


def make_room(output: Folder, *, overwrite: bool, own: Collection[str] = ()) -> None:
    """Empties the folder, also of what a killed dump left unfinished there; raises what
    `check_room` does."""
    names = check_room(output, overwrite=overwrite, own=own)
    for name in sorted(names, key=lambda name: name != SUCCESS):
        output.delete(name)  # first what says that it is whole
    output.drop_uploads()
