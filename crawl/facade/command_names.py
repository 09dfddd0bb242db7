"""What the commands are called here whose names are no method: readers that are several."""

from __future__ import annotations

METHODS_OF_READERS = {
    "readdb": ("stats", "lookup", "top", "crawldb"),
    "readhostdb": ("host", "top_hosts", "dump_hosts", "hostdb"),
    "readlinkdb": ("inlinks", "dump_linkdb", "linkdb"),
}


def no_such_method(name: str) -> str:
    """The line for whoever asks a crawl for a method that it has not."""
    line = f"a crawl has no method {name!r}"
    methods = METHODS_OF_READERS.get(name)
    return line if methods is None else f"{line}: the command's are {', '.join(methods)}"
