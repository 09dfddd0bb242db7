"""The log of a server: one entry for each request, as lines of text in a file.

`began` is taken when the first byte of the request was read, `ended` just before the last
bytes of the answer are handed to the kernel. Were it taken after, a server that loses the
processor there would accuse a polite client of haste.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LINE = b"%.6f\t%.6f\t%d\t%d\t%d\t%b\t%b\t%b\t%b\t%b\n"
"""began, ended, connection, status, bytes, ip, method, host, path, agent."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A request and its answer; times are monotonic seconds of this machine."""

    began: float
    ended: float
    host: str
    path: str
    """With its query."""
    ip: str = "127.0.0.1"
    """The server's address on which it came."""
    connection: int = 0
    status: int = 200
    """0 where the client left before the end of the answer."""
    sent: int = 0
    """Bytes of the body on the wire."""
    method: str = "GET"
    agent: str = ""
    """The User-Agent header."""


def write_entry(entry: LogEntry) -> bytes:
    """The line of an entry."""
    names = (entry.ip, entry.method, entry.host, entry.path, entry.agent)
    return LINE % (
        *(entry.began, entry.ended, entry.connection, entry.status, entry.sent),
        *(name.encode("latin-1") for name in names),
    )


def read_entries(content: bytes) -> Iterator[LogEntry]:
    """The entries of a log, in the order in which their answers ended."""
    for line in content.decode("latin-1").split("\n")[:-1]:
        began, ended, connection, status, sent, ip, method, host, path, agent = line.split("\t")
        yield LogEntry(
            *(float(began), float(ended), host, path, ip),
            *(int(connection), int(status), int(sent), method, agent),
        )
