"""How long a member of the group may act as the owner of its partitions.

The coordinator gives them to another when it has not heard of this member for a session. What it
has heard of is known for certain only by an answer: a commit of offsets that the coordinator took
under the member's own generation, which begins the session anew there. So the lease counts from the
moment when the commit was *sent*, and ends a margin before the session would:

    commit sent ──► taken, the session begins anew ──────────────► given to another at the earliest
    │◄──────────────── session − margin: may send ──────────►│
                                                             ◄ margin ►

That heartbeats are sent by a thread of the client proves nothing to us; and a process that stood
still finds here, by a clock that did not, that its time is over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class Lease:
    """Renewed by one thread, asked by those that send. All moments are monotonic."""

    session_s: float
    margin_s: float
    _until: float = float("-inf")
    _asked_at: float | None = None
    _is_asking: bool = False
    _lock: Lock = field(default_factory=Lock)

    def holds(self, now: float) -> bool:
        """Whether another cannot be the owner yet."""
        return now < self._until  # one read: it is asked before every request

    @property
    def until(self) -> float:
        return self._until

    def asks(self, now: float) -> bool:
        """A proof of life is about to be sent; False, and then it must not be, while the answer to
        the last is not there: it could not be told from the next one's."""
        with self._lock:
            if self._is_asking:
                return False
            self._is_asking, self._asked_at = True, now
            return True

    def answered(self, *, is_taken: bool) -> None:
        """What became of it."""
        with self._lock:
            asked_at, self._asked_at, self._is_asking = self._asked_at, None, False
            if is_taken and asked_at is not None:
                self._until = max(self._until, asked_at + self.session_s - self.margin_s)

    def lose(self) -> None:
        """The member is none any more; an answer that is still to come is to an old question."""
        with self._lock:
            self._until = float("-inf")
            self._asked_at = None
