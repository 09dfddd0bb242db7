"""What goes wrong with HDFS: which faults pass by themselves, and what the others mean.

The client tells them by the words of Java's exceptions. A name node that has answered before
is waited for (it is restarted, or another takes over); one that never did is a wrong address.
"""

from __future__ import annotations

import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

Result = TypeVar("Result")

KNOWN_S = 90.0
"""How long a cluster that has answered before may be away."""
UNKNOWN_S = 2.0
_FIRST_PAUSE_S = 0.1
_MAX_PAUSE_S = 4.0
_PROBE_S = 10.0
_pause = threading.Event()  # never set: a sleep


class HdfsRetries:
    """Makes calls of one cluster's client, again while a fault may pass."""

    def __init__(self, netloc: str) -> None:
        self._netloc = netloc
        self._answered = False

    def of(self, call: Callable[[], Result]) -> Result:
        """What the call returns; an OSError of one line where that is a fault that stays."""
        if not self._answered:
            self._require_an_answer()
        pauses = _pauses(KNOWN_S if self._answered else UNKNOWN_S)
        while True:
            try:
                return self.once(call)
            except _Passing:
                if next(pauses, None) is None:
                    raise

    def once(self, call: Callable[[], Result]) -> Result:
        """The same for a call that cannot be made again."""
        try:
            result = call()
        except (FileNotFoundError, FileExistsError) as error:
            self._answered = True
            if "not a directory" in str(error):
                raise NotADirectoryError(self._netloc) from error
            raise type(error)(_first_line(str(error))) from error
        except (IsADirectoryError, NotADirectoryError, PermissionError) as error:
            raise type(error)(_first_line(str(error))) from error
        except (OSError, RuntimeError) as error:
            kind = _Passing if _may_pass(error) else OSError
            raise kind(error_line(error, self._netloc, has_answered=self._answered)) from error
        self._answered = True
        return result

    def _require_an_answer(self) -> None:
        """The client itself waits for minutes where nobody listens."""
        host, _, port = self._netloc.rpartition(":")
        if not port.isdigit():
            return  # a name service: the configuration knows its name nodes
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE_S).close()
        except (OSError, OverflowError) as error:
            raise OSError(_UNREACHABLE.format(place=self._netloc)) from error


class _Passing(OSError):
    """A fault that may not be there a moment later."""


def _pauses(seconds: float) -> Iterator[float]:
    """Waits between attempts, longer each time and never two processes in step."""
    end = time.monotonic() + seconds
    pause = _FIRST_PAUSE_S
    while time.monotonic() < end:
        _pause.wait(pause * random.uniform(0.5, 1.0))
        yield pause
        pause = min(pause * 2, _MAX_PAUSE_S)


def _may_pass(error: Exception) -> bool:
    text = str(error)
    if isinstance(error, OSError):
        return True  # of the network: what is told of files comes by classes of its own
    if text.startswith(_ANSWERS):
        return any(word in text for word in _PASSING_ANSWERS)
    return not text.startswith(_STAYING)


def error_line(error: Exception, netloc: str, *, has_answered: bool = False) -> str:
    """What it means to the user, in one line; `has_answered`: the name node has answered before."""
    text = str(error)
    denied = _DENIED.search(text)
    if denied:
        user, access, place = denied.groups()
        return (
            f"permission denied: {user} has no {access.lower().replace('_', ' and ')} right on"
            f" {place}; set HADOOP_USER_NAME to a user who has, or change the folder's rights"
        )
    for words, line in _LINES.items():
        if words in text:
            return line.format(place=netloc, why=_first_line(text))
    if isinstance(error, OSError):  # of the network, in the system's many words
        return (_GONE if has_answered else _UNREACHABLE).format(place=netloc, why=_first_line(text))
    return _first_line(text)


def _first_line(text: str) -> str:
    """A Java exception without its class and its stack."""
    inner = re.match(r'\w+\("(?:[\w.$]+", ")?(.*)', text, re.DOTALL)
    line = (inner.group(1) if inner else text).replace('\\"', '"')
    line = re.split(r"\\n|\n", line)[0].strip().removesuffix('")')
    return line if len(line) <= _MAX_LINE_LENGTH else line[:_MAX_LINE_LENGTH] + "…"


_MAX_LINE_LENGTH = 200
_DENIED = re.compile(r'Permission denied: user=(.*?), access=(\w+), inode=\\*"(.*?)\\*"')
_ANSWERS = ("RPCError", "FatalRPCError")
_PASSING_ANSWERS = (
    *("SafeModeException", "RetriableException", "StandbyException"),
    *("NotReplicatedYetException", "could only be written to", "ServerTooBusy"),
)
_STAYING = ("InvalidArgument", "InvalidPath", "Unsupported", "SASL", "GSSAPI", "NoSASL", "Url")

_UNREACHABLE = (
    "cannot reach the name node at {place}: see that it runs there and that the port is the one"
    " of fs.defaultFS"
)
_GONE = (
    "a node of the cluster at {place} no longer answers ({why}): see that its name node and data"
    " nodes run"
)
_NO_DATA_NODE = "no data node answers that could do it ({why}): see that they run and have room"
_UNKNOWN_SERVICE = (
    "{place} is no name service that is known here: add the port (hdfs://namenode:8020/path),"
    " or set HADOOP_CONF_DIR to the folder of the cluster's hdfs-site.xml"
)
_KERBEROS = "the cluster wants Kerberos ({why}): run kinit, and set HADOOP_CONF_DIR"
_LINES = {
    "No NameNode hosts found": _UNKNOWN_SERVICE,
    "No fs.defaultFS": (
        "no name node is named: write hdfs://namenode:port/path, or set HADOOP_CONF_DIR to the"
        " folder of the cluster's core-site.xml"
    ),
    "SafeModeException": (
        "the name node at {place} is in safe mode and changes nothing: wait until it has left"
        " it, or see `hdfs dfsadmin -safemode get`"
    ),
    "StandbyException": (
        "the name node at {place} is on standby: name the active one, or the name service"
    ),
    "QuotaExceeded": "the quota is used up: {why}",
    "not a directory": "a part of the path is a file",
    **dict.fromkeys(("could only be written to", "DataTransferError"), _NO_DATA_NODE),
    **dict.fromkeys(("BlocksNotFound", "were not reported by any data node"), _NO_DATA_NODE),
    **dict.fromkeys(("authentication is not enabled", "GSSAPI", "SASL"), _KERBEROS),
}
