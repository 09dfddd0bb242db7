"""What is registered, what is to be delivered, and what could not be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from crawl.service.event_filter import EventFilter

EVERY_EVENT: Final = "*"


class PauseReason(StrEnum):
    """Why an endpoint is sent nothing; empty where it is."""

    ACTIVE = ""
    FAILING = "failing"
    """It has taken nothing for too long."""
    GONE = "gone"
    """It answered 410: it does not want any more."""
    REQUESTED = "requested"
    KEY_DISABLED = "key_disabled"
    """Nobody who asked for it may ask any more; it goes on when the key is enabled."""


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A registration."""

    id: str
    url: str
    events: tuple[str, ...]
    secret: str
    owner: str
    """The id of the key that registered it."""
    created_ms: int
    filter: EventFilter = EventFilter()
    is_of_all: bool = False
    """Told of every key's doings: it was registered by one that may see all."""
    failing_since_ms: int = 0
    """When the first of the failures came that no success has followed; 0: none."""
    paused_ms: int = 0
    pause_reason: PauseReason = PauseReason.ACTIVE

    def __repr__(self) -> str:
        return f"Webhook(id={self.id!r}, url={self.url!r}, owner={self.owner!r}, secret='***')"

    def wants(self, event: WebhookEvent) -> bool:
        """Whether the event is to be delivered to it."""
        if not self.is_of_all and event.owner != self.owner:
            return False
        if EVERY_EVENT not in self.events and event.type not in self.events:
            return False
        return self.filter.wants(event.host, event.crawl, event.tags)


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """What happened, and the JSON that tells it."""

    type: str
    body: bytes
    host: str = ""
    crawl: str = ""
    tags: tuple[str, ...] = ()
    owner: str = ""
    """The key whose doing it was; empty where it was nobody's."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One event for one endpoint."""

    key: str
    """Its place in the outbox, which grows with time."""
    id: str
    """What the endpoint is told as webhook-id: the same at each attempt."""
    webhook: str
    event: str
    body: bytes
    created_ms: int
    due_ms: int
    version: int
    attempts: int = 0
    status: int = 0
    """The code of the last answer; 0: none."""
    error: str = ""
    """What went wrong at the last attempt."""


class DeathReason(StrEnum):
    """Why a delivery is not tried any more."""

    EXHAUSTED = "exhausted"
    """All attempts were made."""
    PAUSED = "paused"
    BACKLOG = "backlog"
    """Too many others wait for the same endpoint."""


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that was given up, until somebody has it delivered again or purges it."""

    delivery: Delivery
    reason: DeathReason
    died_ms: int
