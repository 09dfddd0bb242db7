"""Limits on the time, speed and size of a response, for all protocol plugins over a network."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from crawl.config import Config, duration, integer, size

TIMEOUT = duration(
    "http.timeout", 10_000, "Longest wait for a server, in each of its forms below.", unit="ms"
)
CONNECT_TIMEOUT = duration(
    "http.connect.timeout", TIMEOUT, "Longest wait for a connection, TLS included.", unit="ms"
)
FIRST_BYTE_TIMEOUT = duration(
    "http.first.byte.timeout",
    TIMEOUT,
    "Longest wait for the first byte of an answer once it is asked for.",
    unit="ms",
)
LOW_SPEED_TIME = duration(
    "http.low.speed.time", TIMEOUT, "An answer that is too slow for so long is given up.", unit="ms"
)
LOW_SPEED_LIMIT = integer(
    "http.low.speed.limit",
    10,
    "What is too slow; 0: only what stands still.",
    unit="bytes/s",
    minimum=0,
)
TIME_LIMIT = duration(
    "http.time.limit",
    120,
    "Longest time for a whole document, which is truncated there; -1: none.",
    unit="s",
    minimum=-1,
)
CONTENT_LIMIT = size(
    "http.content.limit",
    1024 * 1024,
    "Longest body, on the wire and unpacked; the rest is cut off; -1: none.",
    minimum=-1,
)
HEADER_LIMIT = size("http.header.limit", 64 * 1024, "Longest header of an answer.", minimum=1024)

_NEVER = 365 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """The limits of one transfer in seconds and bytes; no limit is a very large number."""

    connect: float
    first_byte: float
    low_speed_time: float
    low_speed: int
    """A response slower than so many bytes a second, for low_speed_time, is too slow."""
    total: float
    body: int
    header: int

    @classmethod
    def of(cls, config: Config) -> TransferLimits:
        return cls(
            connect=_seconds(config[CONNECT_TIMEOUT] / 1000),
            first_byte=_seconds(config[FIRST_BYTE_TIMEOUT] / 1000),
            low_speed_time=_seconds(config[LOW_SPEED_TIME] / 1000),
            low_speed=max(1, config[LOW_SPEED_LIMIT]),
            total=_seconds(config[TIME_LIMIT]),
            body=config[CONTENT_LIMIT] if config[CONTENT_LIMIT] >= 0 else sys.maxsize,
            header=config[HEADER_LIMIT],
        )

    @property
    def low_speed_bytes(self) -> float:
        """The fewest bytes that must arrive within low_speed_time; at least one."""
        return max(1.0, self.low_speed * self.low_speed_time)

    @property
    def watched_in_seconds(self) -> bool:
        """Whether libcurl's own low-speed check will do: it knows one wait, of whole seconds,
        for the first byte and for all others."""
        return self.first_byte == self.low_speed_time and self.low_speed_time.is_integer()

    def body_of(self, max_bytes: int | None) -> int:
        """The limit of one body, where the request may bring its own."""
        if max_bytes is None:
            return self.body
        return max_bytes if max_bytes >= 0 else sys.maxsize


def _seconds(configured: float) -> float:
    return configured if 0 < configured < _NEVER else _NEVER
