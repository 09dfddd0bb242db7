"""How often a phase asks an object store, by method: pure arithmetic over files and their sizes.

The tests hold these sums against what a proxy before an S3 server counts. A store bills lists like
PUTs and HEADs like GETs, and deletes not at all; POSTs, which begin and end an upload of parts or
delete a thousand files, count as PUTs here, for they are billed so.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from operator import add

READ_BLOCK = 4 << 20
"""Bytes of a file that are asked for at a time."""
WRITE_BLOCK = 16 << 20
"""Bytes of a part of an upload; a smaller file is one request."""
END_BYTES = 1 << 16
"""Of a file, which are read first: a smaller one is known with them."""
FILES_PER_LIST = 1000
"""That one request lists, or deletes."""
FEW_FILES = 8
"""Of a folder, which are deleted one by one."""


@dataclass(frozen=True, slots=True)
class StoreRequests:
    """Requests by method."""

    put: float = 0.0
    get: float = 0.0
    head: float = 0.0
    list: float = 0.0
    delete: float = 0.0

    def __add__(self, other: StoreRequests) -> StoreRequests:
        return StoreRequests(*map(add, astuple(self), astuple(other)))

    def times(self, count: float) -> StoreRequests:
        return StoreRequests(*(count * each for each in astuple(self)))

    @property
    def puts(self) -> float:
        """Those that cost what a PUT costs."""
        return self.put + self.list

    @property
    def gets(self) -> float:
        """Those that cost what a GET costs."""
        return self.get + self.head


NO_REQUESTS = StoreRequests()
PUBLICATION = StoreRequests(put=6, get=28, head=4, list=7, delete=2)
"""Lock, pointer, manifests and report of a phase that publishes, whatever the size."""
SEGMENT_CHOICE = StoreRequests(get=16, list=1)
"""What updatedb reads of a segment before its files."""
FETCH = StoreRequests(put=21, get=106, head=13, list=30, delete=4)
"""Locks, manifests and reports of a fetch: of the segment, of robots.txt and of pauses."""
FETCH_PART = StoreRequests(put=6, get=14, head=1, list=5)
"""A part's claim, marks, first and last report and end, and the files of its servers' pauses and of
its hosts that failed."""
FETCH_PART_SECOND = StoreRequests(put=1.5, get=1, head=1, delete=1)
"""What it has fetched is noted every second and the note deleted with the next chunk; every other
second it tells how far it is, and looks whether it is to end."""
CHUNK = StoreRequests(put=2, get=2)
"""Of a chunk that a fetch commits, besides its files: the mark and its copy."""
ROBOTS_ANSWERS = StoreRequests(put=1, get=1)
"""A file of answers for robots.txt that goes with a chunk, and is read at the end."""
PARSE = StoreRequests(put=4, get=35, head=2, list=7, delete=1)
"""Lock, manifests and report of a parse."""
PARSE_TASK = StoreRequests(put=1)
"""The mark of a task that is done."""


def reading(files: float, size: float) -> StoreRequests:
    """Files that are so many bytes together, read row group by row group. Their sizes are known
    from a manifest."""
    if files <= 0:
        return NO_REQUESTS
    each = size / files
    blocks = math.ceil(each / READ_BLOCK) if each > END_BYTES else 0
    return StoreRequests(get=files * (1 + blocks))


def reading_whole(files: float) -> StoreRequests:
    """Files that are read from beginning to end, by one request each."""
    return StoreRequests(get=files)


def writing(files: float, size: float) -> StoreRequests:
    """Files that are so many bytes together; nobody asks for their sizes afterwards."""
    if files <= 0:
        return NO_REQUESTS
    each = size / files
    # begun, each part, and ended
    requests = 1 if each < WRITE_BLOCK else 2 + math.ceil(each / WRITE_BLOCK)
    return StoreRequests(put=files * requests)


def publishing(files: float, snapshots: int, replaced: float = 0.0) -> StoreRequests:
    """A snapshot that names so many files, where so many snapshots are kept, and which has the
    files deleted that only the oldest of them names: twice all files are listed."""
    return PUBLICATION + forgetting(files, snapshots, replaced)


def deleting_folder(files: float) -> StoreRequests:
    """A folder of so many files: a few are deleted one by one."""
    if files <= FEW_FILES:
        return StoreRequests(delete=files)
    return StoreRequests(put=math.ceil(files / FILES_PER_LIST), get=1, head=1, list=3)


def forgetting(files: float, snapshots: int, replaced: float | None = None) -> StoreRequests:
    """What of a publication grows with its files, of which so many, or all, are replaced."""
    pages = 2 * math.floor(files * snapshots / FILES_PER_LIST)
    gone = files if replaced is None else replaced
    return StoreRequests(put=math.ceil(gone / FILES_PER_LIST), list=pages)
