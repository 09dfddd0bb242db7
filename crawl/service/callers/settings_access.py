"""The settings of keys, quotas, webhooks and events of the service."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from crawl.config import Config, Property, boolean, choice, duration, integer, number, string_list
from crawl.service.callers.quota import Quota
from crawl.service.callers.scope import Scope


class KeyUse(StrEnum):
    """Where a key is needed."""

    AUTO = "auto"
    ALWAYS = "always"


ACCESS_KEYS = choice(
    "service.access.keys",
    KeyUse.AUTO.value,
    tuple(use.value for use in KeyUse),
    "Who needs a key: everybody, or, with auto, whoever does not ask a service that listens on"
    " loopback. Elsewhere it does not start without one.",
)
ACCESS_HOSTS = string_list(
    "service.access.hosts",
    (),
    "Names under which the service may be asked (the Host header), beside those of loopback where"
    " it listens there; empty elsewhere: any.",
)
KEYS_REFRESH = duration(
    "service.keys.refresh",
    5.0,
    "How long keys are remembered: after this one that was disabled elsewhere is refused.",
    unit="s",
)
QUOTA_FLUSH = duration(
    "service.quota.flush",
    10.0,
    "How often the counts of quotas, and when keys were used, are written: a crash grants once"
    " more what was taken since.",
    unit="s",
    minimum=0.1,
)


def _rate(scope: Scope, default: float) -> Property[float]:
    return number(
        f"service.quota.{scope}.rate",
        default,
        f"{scope}: URLs or requests a second for a key without a quota of its own; -1: any.",
        minimum=-1,
    )


def _burst(scope: Scope, default: int) -> Property[int]:
    return integer(
        f"service.quota.{scope}.burst",
        default,
        f"{scope}: the most at once after a rest; 0: those of ten seconds.",
        minimum=0,
    )


def _day(scope: Scope, default: int) -> Property[int]:
    return integer(
        f"service.quota.{scope}.day",
        default,
        f"{scope}: the most between two midnights, UTC; -1: any.",
        minimum=-1,
    )


QUOTA_RATES: Final = {
    Scope.SUBMIT: _rate(Scope.SUBMIT, 100.0),
    Scope.FETCH: _rate(Scope.FETCH, 10.0),
    Scope.LOOKUP: _rate(Scope.LOOKUP, 2_000.0),
    Scope.SEARCH: _rate(Scope.SEARCH, 20.0),
    Scope.CRAWL: _rate(Scope.CRAWL, 1.0),
}
QUOTA_BURSTS: Final = {
    Scope.SUBMIT: _burst(Scope.SUBMIT, 2_000),
    Scope.FETCH: _burst(Scope.FETCH, 100),
    Scope.LOOKUP: _burst(Scope.LOOKUP, 20_000),
    Scope.SEARCH: _burst(Scope.SEARCH, 100),
    Scope.CRAWL: _burst(Scope.CRAWL, 10),
}
QUOTA_DAYS: Final = {
    Scope.SUBMIT: _day(Scope.SUBMIT, -1),
    Scope.FETCH: _day(Scope.FETCH, -1),
    Scope.LOOKUP: _day(Scope.LOOKUP, -1),
    Scope.SEARCH: _day(Scope.SEARCH, -1),
    Scope.CRAWL: _day(Scope.CRAWL, -1),
}

WEBHOOKS_ALLOW_PRIVATE = boolean(
    "service.webhooks.allow.private",
    False,
    "Deliver to private, loopback and link-local addresses too: for tests and intranets. A"
    " cloud's metadata stays refused, and so does what http.filter.ipaddress.exclude names.",
)
WEBHOOKS_THREADS = integer(
    "service.webhooks.threads", 8, "Deliveries at a time.", minimum=1, maximum=256
)
WEBHOOKS_PER_ENDPOINT = integer(
    "service.webhooks.per.endpoint", 2, "Deliveries to one endpoint at a time.", minimum=1
)
WEBHOOKS_CONNECT_TIMEOUT = duration(
    "service.webhooks.connect.timeout",
    5.0,
    "Longest wait for a connection to an endpoint, TLS included.",
    unit="s",
    minimum=0.01,
)
WEBHOOKS_TIMEOUT = duration(
    "service.webhooks.timeout",
    15.0,
    "Longest time for a whole delivery, the endpoint's answer included.",
    unit="s",
    minimum=0.01,
)
WEBHOOKS_ATTEMPTS = integer(
    "service.webhooks.attempts",
    10,
    "Attempts of one delivery; after the last it is a dead letter.",
    minimum=1,
    maximum=100,
)
WEBHOOKS_RETRY_FIRST = duration(
    "service.webhooks.retry.first", 5.0, "About how long after the first attempt.", unit="s"
)
WEBHOOKS_RETRY_FACTOR = number(
    "service.webhooks.retry.factor",
    4.0,
    "How much longer each wait is than the one before.",
    minimum=1,
    maximum=100,
)
WEBHOOKS_RETRY_MOST = duration(
    "service.webhooks.retry.most", 6.0, "The longest wait between two attempts.", unit="h"
)
WEBHOOKS_PAUSE_AFTER = duration(
    "service.webhooks.pause.after",
    24.0,
    "An endpoint that takes nothing for so long is paused: what is meant for it becomes dead"
    " letters until somebody resumes it.",
    unit="h",
)
WEBHOOKS_PENDING = integer(
    "service.webhooks.pending",
    100_000,
    "Deliveries that wait for one endpoint; further ones become dead letters.",
    minimum=1,
)
WEBHOOKS_DEAD_DAYS = duration(
    "service.webhooks.dead.keep", 30.0, "How long dead letters are kept.", unit="d", minimum=0.01
)
WEBHOOKS_MOST = integer(
    "service.webhooks.most", 100, "Registrations of one key.", minimum=1, maximum=10_000
)
WEBHOOKS_POLL = duration(
    "service.webhooks.poll",
    1.0,
    "How often deliveries are looked for that other processes have stored.",
    unit="s",
    minimum=0.01,
)
WEBHOOKS_LEASE = duration(
    "service.webhooks.lease",
    15.0,
    "After so long without a word of it, another process delivers in the place of the one that"
    " did.",
    unit="s",
    minimum=0.1,
)
HTTP_CONNECTIONS = integer(
    "service.http.connections",
    2_000,
    "Connections at a time; others are told to come back later.",
    minimum=1,
)
HTTP_TIMEOUT = duration(
    "service.http.timeout",
    60.0,
    "A request that has not arrived after this is broken off, and so is an answer of which nothing"
    " is taken.",
    unit="s",
    minimum=0.1,
)
HTTP_STREAMS = integer(
    "service.http.streams",
    200,
    "Streams of one key (events, pages of crawls) at a time; those of all: a half of the"
    " connections.",
    minimum=1,
)
HTTP_STREAM_TIME = duration(
    "service.http.stream.time",
    3_600.0,
    "A stream ends after this; whoever connects again with Last-Event-ID misses nothing.",
    unit="s",
    minimum=0.01,
)
EVENTS_RING = integer(
    "service.events.ring",
    10_000,
    "Events that are kept for those who connect again.",
    minimum=1,
)
EVENTS_BUFFER = integer(
    "service.events.buffer",
    1_000,
    "Events that wait for one listener; a slower one misses the oldest, and is told how many.",
    minimum=1,
)
EVENTS_LISTENERS = integer(
    "service.events.listeners", 1_000, "Listeners at a time; others are refused.", minimum=1
)


def default_quota(config: Config, scope: Scope) -> Quota:
    """The quota of a key that has none of its own for the class."""
    if scope not in QUOTA_RATES:
        return Quota()
    return Quota(
        per_second=config[QUOTA_RATES[scope]],
        burst=config[QUOTA_BURSTS[scope]],
        per_day=config[QUOTA_DAYS[scope]],
    )


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """How webhooks are delivered, in seconds."""

    threads: int = 8
    per_endpoint: int = 2
    connect_timeout_s: float = 5.0
    timeout_s: float = 15.0
    attempts: int = 10
    retry_first_s: float = 5.0
    retry_factor: float = 4.0
    retry_most_s: float = 21_600.0
    pause_after_s: float = 86_400.0
    most_pending: int = 100_000
    dead_keep_s: float = 2_592_000.0
    most_per_key: int = 100
    poll_s: float = 1.0
    lease_s: float = 15.0

    @classmethod
    def of(cls, config: Config) -> WebhookSettings:
        return cls(
            threads=config[WEBHOOKS_THREADS],
            per_endpoint=config[WEBHOOKS_PER_ENDPOINT],
            connect_timeout_s=config[WEBHOOKS_CONNECT_TIMEOUT],
            timeout_s=config[WEBHOOKS_TIMEOUT],
            attempts=config[WEBHOOKS_ATTEMPTS],
            retry_first_s=config[WEBHOOKS_RETRY_FIRST],
            retry_factor=config[WEBHOOKS_RETRY_FACTOR],
            retry_most_s=config[WEBHOOKS_RETRY_MOST] * 3600,
            pause_after_s=config[WEBHOOKS_PAUSE_AFTER] * 3600,
            most_pending=config[WEBHOOKS_PENDING],
            dead_keep_s=config[WEBHOOKS_DEAD_DAYS] * 86_400,
            most_per_key=config[WEBHOOKS_MOST],
            poll_s=config[WEBHOOKS_POLL],
            lease_s=config[WEBHOOKS_LEASE],
        )


@dataclass(frozen=True, slots=True)
class EventSettings:
    """How many events are kept, and for how many."""

    ring: int = 10_000
    buffer: int = 1_000
    listeners: int = 1_000

    @classmethod
    def of(cls, config: Config) -> EventSettings:
        return cls(
            ring=config[EVENTS_RING],
            buffer=config[EVENTS_BUFFER],
            listeners=config[EVENTS_LISTENERS],
        )
