"""What an answer means for its page and its host: one table.

the page      what the record says            fetch_* status of the record
the host      nothing · a failure · a pause    whether the queue backs off
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from crawl.interfaces.protocol import Failure, FailureKind, Response
from crawl.model.protocol_status import ProtocolStatus
from crawl.model.status import Status

Answer = Response | Failure


class Blame(Enum):
    """What the answer means for the server's queue."""

    NONE = "none"
    FAILURE = "failure"
    """The server (or the way to it) does not work: back off, and give up after some."""
    PAUSE = "pause"
    """The server asks for a pause: keep it, for its whole queue."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of the table."""

    protocol_status: ProtocolStatus
    status: Status
    blame: Blame = Blame.NONE
    store: bool = False
    """Whether the content is kept."""
    label: str = field(init=False)
    """The status, as it is counted."""
    protocol_label: str = field(init=False)

    def __post_init__(self) -> None:
        # needed for every page, and an enum takes its time to give it
        object.__setattr__(self, "label", self.status.label)
        object.__setattr__(self, "protocol_label", self.protocol_status.label)


_OK = Outcome(ProtocolStatus.SUCCESS, Status.FETCH_SUCCESS, store=True)
_MOVED = Outcome(ProtocolStatus.MOVED, Status.FETCH_REDIR_PERM, store=True)
_TEMP_MOVED = Outcome(ProtocolStatus.TEMP_MOVED, Status.FETCH_REDIR_TEMP, store=True)
_GONE = Outcome(ProtocolStatus.GONE, Status.FETCH_GONE)
_DENIED = Outcome(ProtocolStatus.ACCESS_DENIED, Status.FETCH_GONE)
_BROKEN = Outcome(ProtocolStatus.EXCEPTION, Status.FETCH_RETRY, Blame.FAILURE)
_BUSY = Outcome(ProtocolStatus.RETRY, Status.FETCH_RETRY, Blame.PAUSE)
_ODD = Outcome(ProtocolStatus.EXCEPTION, Status.FETCH_RETRY)
_BLOCKED = Outcome(ProtocolStatus.BLOCKED, Status.FETCH_GONE)
_UNSPOKEN = Outcome(ProtocolStatus.PROTO_NOT_FOUND, Status.FETCH_GONE)

BY_CODE: dict[int, Outcome] = {
    **dict.fromkeys((300, 301, 305, 308), _MOVED),
    **dict.fromkeys((302, 303, 307), _TEMP_MOVED),
    304: Outcome(ProtocolStatus.NOTMODIFIED, Status.FETCH_NOTMODIFIED),
    **dict.fromkeys((401, 402, 403, 451), _DENIED),
    404: Outcome(ProtocolStatus.NOTFOUND, Status.FETCH_GONE),
    407: _BROKEN,  # a proxy of ours that refuses us: no fault of the page
    408: _ODD,  # the server waited too long for us
    410: _GONE,
    421: _ODD,  # another connection will do
    **dict.fromkeys((423, 425), _ODD),
    **dict.fromkeys((429, 503), _BUSY),
}

BY_CLASS: dict[int, Outcome] = {
    1: _ODD,
    2: _OK,
    3: _MOVED,
    4: _GONE,  # the server says that the request is at fault, and it will be the same one
    5: _BROKEN,
}

_FAILURES: dict[FailureKind, tuple[Outcome, str]] = {
    FailureKind.UNKNOWN_HOST: (_BROKEN, "no address"),
    FailureKind.CONNECT_REFUSED: (_BROKEN, "no connection"),
    FailureKind.CONNECT_TIMEOUT: (_BROKEN, "no connection"),
    FailureKind.TLS: (_BROKEN, "no connection"),
    FailureKind.FIRST_BYTE_TIMEOUT: (_BROKEN, "no answer"),
    FailureKind.PROXY: (_BROKEN, "no connection"),
    FailureKind.DISCONNECTED: (_BROKEN, "no whole answer"),
    FailureKind.STALE_CONNECTION: (_BROKEN, "no whole answer"),
    FailureKind.LOW_SPEED: (_BROKEN, "no whole answer"),
    FailureKind.TOTAL_TIMEOUT: (_BROKEN, "no whole answer"),
    FailureKind.REFUSED_HEAD: (_ODD, "no answer that can be read"),
    FailureKind.MALFORMED_RESPONSE: (_ODD, "no answer that can be read"),
    FailureKind.HEADERS_TOO_LARGE: (_ODD, "no answer that can be read"),
    FailureKind.BAD_ENCODING: (_ODD, "no answer that can be read"),
    FailureKind.OTHER: (_ODD, "no answer"),
    FailureKind.ADDRESS_REFUSED: (_BLOCKED, "no answer"),
    FailureKind.NOT_SUPPORTED: (_UNSPOKEN, "no answer"),
    FailureKind.WITHHELD: (_ODD, "not asked"),  # the engine gives the URL back: it has no record
}
"""With what is said of each to people."""
BY_FAILURE: dict[FailureKind, Outcome] = {kind: line[0] for kind, line in _FAILURES.items()}

UNASKED = _ODD
"""Of a 304 to somebody who has no version of the page: there is nothing that did not change."""

ROBOTS_DENIED = Outcome(ProtocolStatus.ROBOTS_DENIED, Status.FETCH_GONE)


def outcome_of(answer: Answer) -> Outcome:
    """The line of the table for an answer."""
    if isinstance(answer, Response):
        return BY_CODE.get(answer.code) or BY_CLASS.get(answer.code // 100, _ODD)
    return BY_FAILURE[answer.kind]


def reason_of(answer: Answer) -> str:
    """A name for the answer: `http_404`, `connect_timeout`."""
    return _of_code(answer.code)[0] if isinstance(answer, Response) else answer.kind.value


def reply_of(answer: Answer) -> str:
    """What the server said, or how it failed to, in a few words for people."""
    if isinstance(answer, Response):
        wait = answer.header("retry-after").strip()
        return f"{answer.code}, Retry-After {wait[:_LONGEST_WAIT]}" if wait else str(answer.code)
    return f"{_FAILURES[answer.kind][1]} ({answer.kind.value})"


_LONGEST_WAIT = 40
"""Characters of a Retry-After, which may be a date."""


def answer_label(answer: Answer) -> str:
    """The answer as it is counted: `answers.http_404`."""
    if isinstance(answer, Response):
        return _of_code(answer.code)[1]
    return f"answers.{answer.kind.value}"


@lru_cache(1000)
def _of_code(code: int) -> tuple[str, str]:
    return f"http_{code}", f"answers.http_{code}"
