"""The bounds of connections and streams, and where it is counted that one was reached."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawl.config import Config
from crawl.counters import Counters
from crawl.service.callers.settings_access import (
    HTTP_CONNECTIONS,
    HTTP_STREAM_TIME,
    HTTP_STREAMS,
    HTTP_TIMEOUT,
)


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What every connection is under."""

    connections: int = 2_000
    timeout_s: float = 60.0
    """From the connection, or the first byte behind an answer, to the end of a request's head; as
    much again for its body; and for an answer of which nothing is taken."""
    streams_of_key: int = 200
    stream_s: float = 3_600.0
    """After which a stream ends."""
    counters: Counters = field(default_factory=Counters)
    """Takes `api_errors.CODE`."""

    @classmethod
    def of(cls, config: Config, counters: Counters) -> HttpLimits:
        return cls(
            connections=config[HTTP_CONNECTIONS],
            timeout_s=config[HTTP_TIMEOUT],
            streams_of_key=config[HTTP_STREAMS],
            stream_s=config[HTTP_STREAM_TIME],
            counters=counters,
        )

    @property
    def streams(self) -> int:
        """Of all keys together: the others are for those who ask once."""
        return max(1, self.connections // 2)
