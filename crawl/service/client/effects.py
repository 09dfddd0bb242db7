"""What a call needs of the world, as values: a generator yields them, a driver does them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from crawl.service.client.requests import Answer, Request

Result = TypeVar("Result")
Item = TypeVar("Item")


class Stream(Protocol):
    """An answer that goes on."""

    @property
    def head(self) -> Answer:
        """Status and headers; with its body where it is a complaint."""
        ...

    def read(self) -> bytes:
        """What came; nothing at its end. Raises ServiceUnreachable where it broke or was silent
        for too long."""
        ...

    def close(self) -> None:
        """Ends it, and a `read` of another thread with it."""
        ...


@dataclass(frozen=True, slots=True)
class Send:
    """Send it, and come back with its Answer within so many seconds. Where there is none, the
    driver throws `Unanswered` into the generator."""

    request: Request[Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class Open:
    """Send it, and come back with a Stream."""

    request: Request[Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class Read:
    """Come back with what the stream reads."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Pause:
    """Come back later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Emit(Generic[Item]):
    """Give it to whoever iterates."""

    item: Item


class Unanswered(Exception):
    """No answer came. For drivers and calls alone: users get ServiceUnreachable."""

    def __init__(self, why: str, *, may_have_arrived: bool, may_pass: bool = True) -> None:
        super().__init__(why)
        self.may_have_arrived = may_have_arrived
        self.may_pass = may_pass
        """False of what will not be otherwise next time: a certificate, a name that is none."""


Call = Generator[Send | Pause, Any, Result]
"""Ends with a result."""
ItemStream = Generator[Send | Open | Read | Pause | Emit[Item], Any, None]
"""Emits items on its way."""
