"""Whether the file of an LMDB is whole, found out before it is used.

The file is mapped into memory: to touch what was cut off would end the process (SIGBUS), and so do
some of LMDB's own assertions about pages. Run as a program it reads a file through, in a process
that may die of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import lmdb

from crawl.printable import one_line
from crawl.service.stores.store import DamagedStore

FILE_NAME = "data.mdb"
MAX_DATABASES = 16
_TIMEOUT_S = 3600


def damaged(path: Path, fault: str) -> DamagedStore:
    """What is said of a file that is not as it was written."""
    return DamagedStore(
        f"{path / FILE_NAME} is damaged: {fault}; put a copy in its place, or move the folder away"
        " to begin without what it knew"
    )


def ensure_whole(path: Path, environment: lmdb.Environment) -> None:
    """Raises StorageError where a part of the file is missing.

    LMDB does not write pages that it took and gave back at once, so a healthy file may be shorter
    than the pages that it counts. Then all that is in it is read, by another process."""
    pages = environment.info()["last_pgno"] + 1
    expected = pages * environment.stat()["psize"]
    file = path / FILE_NAME
    size = file.stat().st_size
    if size >= expected:
        return
    with file.open("r+b") as opened:
        if sys.platform == "linux":
            os.posix_fallocate(opened.fileno(), 0, expected)  # never makes it shorter
        else:
            opened.truncate(expected)
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(path)],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    if done.returncode:
        said = one_line(done.stderr, 200) or f"reading it ended with {done.returncode}"
        fault = f"it has {size:,} of {expected:,} bytes ({said})"
        raise damaged(path, fault)


def read_through(path: Path) -> int:
    """How many entries all databases of the file have; ends somehow where it is damaged."""
    entries = 0
    with (
        lmdb.open(str(path), readonly=True, max_dbs=MAX_DATABASES) as environment,
        environment.begin() as transaction,
    ):
        for name in environment.dbs():
            database = environment.open_db(name, txn=transaction, create=False)
            with transaction.cursor(database) as cursor:
                for _, value in cursor:
                    entries += 1
                    # a value of several pages is read by that
                    value[::4096].count(0)
    return entries


if __name__ == "__main__":
    try:
        read_through(Path(sys.argv[1]))
    except lmdb.Error as error:
        sys.exit(str(error))
