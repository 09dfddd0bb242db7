"""A writer that stops itself (SIGSTOP) right before a chosen change of a file, in a process of
its own: a driver on a machine that is paused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from crawl.errors import Locked
from crawl.storage.folder import Folder
from crawl.storage.snapshot import Dataset
from tests.storage.snapshots import publish

PUBLISHED = ""


class SleepingWriter:
    """The process. One does for many sleeps: to start it takes longest."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def fall_asleep(self, address: str, change: str) -> None:
        """Has it publish `sleeper` in the dataset at the address, and waits until it has stopped
        before the change."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([address, change]) + "\n")
        self._process.stdin.flush()
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it ended before it could stop"

    def wake(self) -> str:
        """Lets it go on; what it was refused with, or PUBLISHED."""
        self._process.send_signal(signal.SIGCONT)
        assert self._process.stdout is not None
        said: str = json.loads(self._process.stdout.readline())
        return said


@contextmanager
def sleeping_writer() -> Iterator[SleepingWriter]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.storage.sleeping_writer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield SleepingWriter(process)
    finally:
        process.kill()
        process.communicate()


_sleeps_before = ""


def _sleep_before(change: str) -> None:
    global _sleeps_before
    if change == _sleeps_before:
        _sleeps_before = ""
        os.kill(os.getpid(), signal.SIGSTOP)


def main() -> None:
    global _sleeps_before
    plain_write, plain_remove = Folder.write, Folder.remove

    def write(self: Folder, name: str, data: bytes) -> None:
        _sleep_before(f"write {name}")
        plain_write(self, name, data)

    def remove(self: Folder, name: str) -> bool:
        _sleep_before(f"remove {name}")
        return plain_remove(self, name)

    Folder.write, Folder.remove = write, remove  # type: ignore[method-assign]
    for line in sys.stdin:
        address, _sleeps_before = json.loads(line)
        said = PUBLISHED
        try:
            publish(Dataset(Folder(address)), {0: b"sleeper"})
        except Locked as error:
            said = str(error)
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
