"""How often a phase asks an object store, by method: pure arithmetic over files and their sizes.

The tests hold these sums against what a proxy before an S3 server counts. A store bills lists like
PUTs and HEADs like GETs, and deletes not at all; POSTs, which begin and end an upload of parts or
delete a thousand files, count as PUTs here, for they are billed so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

READ_BLOCK = 4 << 20
"""Bytes of a file that are asked for at a time."""
WRITE_BLOCK = 16 << 20
"""Bytes of a part of an upload; a smaller file is one request."""
END_BYTES = 1 << 16
"""Of a file, which are read first: a smaller one is known with them."""
FILES_A_LIST = 1000
"""That one request lists, or deletes."""


@dataclass(frozen=True, slots=True)
class StoreRequests:
    """Requests by method."""

    put: float = 0.0
    get: float = 0.0
    head: float = 0.0
    list: float = 0.0
    delete: float = 0.0

    def __add__(self, other: StoreRequests) -> StoreRequests:
        return StoreRequests(
            self.put + other.put,
            self.get + other.get,
            self.head + other.head,
            self.list + other.list,
            self.delete + other.delete,
        )

    def times(self, count: float) -> StoreRequests:
        return StoreRequests(
            count * self.put,
            count * self.get,
            count * self.head,
            count * self.list,
            count * self.delete,
        )

    @property
    def puts(self) -> float:
        """Those that cost what a PUT costs."""
        return self.put + self.list

    @property
    def gets(self) -> float:
        """Those that cost what a GET costs."""
        return self.get + self.head


NO_REQUESTS = StoreRequests()
PUBLICATION = StoreRequests(put=6, get=26, head=5, list=7, delete=2)
"""Lock, pointer, manifests and report of a phase that publishes, whatever the size."""
SEGMENT_CHOICE = StoreRequests(get=16, list=1)
"""What updatedb reads of a segment before its files."""


def reading(files: float, size: float, *, are_looked_at: bool = True) -> StoreRequests:
    """Files that are so many bytes together, read row group by row group. `are_looked_at`: their
    sizes are asked for, and not known from a manifest."""
    if files <= 0:
        return NO_REQUESTS
    each = size / files
    blocks = math.ceil(each / READ_BLOCK) if each > END_BYTES else 0
    return StoreRequests(get=files * (1 + blocks), head=files if are_looked_at else 0)


def reading_whole(files: float) -> StoreRequests:
    """Files that are read from beginning to end, by one request each."""
    return StoreRequests(get=files)


def writing(files: float, size: float, *, are_looked_at: bool = True) -> StoreRequests:
    """Files that are so many bytes together. `are_looked_at`: their sizes are asked for, and not
    known from having written them."""
    if files <= 0:
        return NO_REQUESTS
    each = size / files
    # begun, each part, and ended
    requests = 1 if each < WRITE_BLOCK else 2 + math.ceil(each / WRITE_BLOCK)
    return StoreRequests(put=files * requests, head=files if are_looked_at else 0)


def publishing(files: float, snapshots: int, replaced: float = 0.0) -> StoreRequests:
    """A snapshot that names so many files, where so many snapshots are kept, and which has the
    files deleted that only the oldest of them names: twice all files are listed."""
    pages = 2 * math.floor(files * snapshots / FILES_A_LIST)
    return PUBLICATION + StoreRequests(put=math.ceil(replaced / FILES_A_LIST), list=pages)
