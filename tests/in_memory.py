"""Has the temporary folders of tests lie in memory, where there is room: a disk takes a millisecond
or more to make or remove a folder, a kill test does so thousands of times, and none of it is to
last. What a test that passed leaves there is removed (setup.cfg). Whoever names a place
(TMPDIR, PYTEST_DEBUG_TEMPROOT, --basetemp) has it there."""

from __future__ import annotations

import os
import re
from pathlib import Path

MEMORY = Path("/dev/shm")
MIN_ROOM = 8 << 30
"""Bytes that must be free in it and in the machine: tests leave some hundred megabytes, and those
of the group `cluster` install environments of gigabytes."""
_VARIABLES = ("PYTEST_DEBUG_TEMPROOT", "TMPDIR")


def has_room(folder: Path = MEMORY, memory: Path = Path("/proc/meminfo")) -> bool:
    """Whether tests can work there: they start programs that they have written, too."""
    try:
        facts = os.statvfs(folder)
        available = re.search(r"^MemAvailable: +(\d+) kB", memory.read_text(), re.M)
    except OSError:
        return False
    may_run = os.access(folder, os.W_OK) and not facts.f_flag & os.ST_NOEXEC
    free = min(facts.f_bavail * facts.f_frsize, int(available[1]) << 10 if available else 0)
    return may_run and free >= MIN_ROOM


if not any(map(os.environ.get, _VARIABLES)) and has_room():
    os.environ[_VARIABLES[0]] = str(MEMORY)
