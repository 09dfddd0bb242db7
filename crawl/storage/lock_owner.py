"""Who holds a lock, and whether that process can still be at work."""

from __future__ import annotations

import getpass
import os
import platform
import uuid
from dataclasses import dataclass
from pathlib import Path

from crawl.clock import as_text


@dataclass(frozen=True, slots=True)
class LockOwner:
    """Who holds a lock."""

    user: str
    host: str
    namespace: str
    """Tells containers of one host name apart: process numbers mean nothing across them."""
    pid: int
    process_started: str
    """Tells a process from a later one that got the same number."""
    command: str
    token: str
    taken_ms: int
    seen_ms: int
    """The owner's last sign of life."""

    def described(self, now_ms: int) -> str:
        return (
            f"{self.command} by {self.user} on {self.host} (process {self.pid}),"
            f" since {as_text(self.taken_ms)}, {_age(now_ms - self.taken_ms)} ago"
        )

    def is_dead(self, now_ms: int, stale_after_ms: float) -> str | None:
        """Why the owner can no longer be at work; None where it may be."""
        if (self.host, self.namespace) == (platform.node(), namespace()):
            if _process_started(self.pid) != self.process_started:
                return f"process {self.pid} no longer runs on this machine"
            return None
        silent = now_ms - self.seen_ms
        if silent > stale_after_ms:
            return f"{self.host} has shown no sign of life for {_age(silent)}"
        return None


def this_process(command: str, now_ms: int) -> LockOwner:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        user = str(os.getuid())
    return LockOwner(
        user=user,
        host=platform.node(),
        namespace=namespace(),
        pid=os.getpid(),
        process_started=_process_started(os.getpid()),
        command=command,
        token=uuid.uuid4().hex,
        taken_ms=now_ms,
        seen_ms=now_ms,
    )


def namespace() -> str:
    """The process-number namespace that this process lives in; empty where unknown."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _process_started(pid: int) -> str:
    """A text that changes when the process number is given anew; empty for no process."""
    try:
        # the part after the command name, which may itself hold spaces and brackets
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "alive"


def _age(milliseconds: float) -> str:
    seconds = max(0, int(milliseconds // 1000))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
