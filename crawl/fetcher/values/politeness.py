"""The settings of politeness: how long to wait between two requests to one server."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawl.config import Config, duration, file, integer
from crawl.config.properties import FETCHER_SERVER_DELAY
from crawl.errors import ConfigError

FETCHER_SERVER_MIN_DELAY = duration(
    "fetcher.server.min.delay",
    0.0,
    "Pause between requests to a server that several threads may ask at the same time.",
    unit="s",
)
FETCHER_SERVER_IP_DELAY = duration(
    "fetcher.server.ip.delay",
    0.0,
    "Pause between requests to one IP address, whatever hosts share it; 0: not looked at.",
    unit="s",
)
FETCHER_MIN_CRAWL_DELAY = duration(
    "fetcher.min.crawl.delay",
    FETCHER_SERVER_DELAY,
    "Least pause for a host whose robots.txt asks for a shorter one.",
    unit="s",
)
FETCHER_MAX_CRAWL_DELAY = duration(
    "fetcher.max.crawl.delay",
    30.0,
    "Longest pause that a robots.txt may ask for; URLs of a host that asks for more are"
    " left for a later round. -1: any pause is kept.",
    unit="s",
    minimum=-1,
)
FETCHER_THREADS_PER_QUEUE = integer(
    "fetcher.threads.per.queue", 1, "Requests to one server at the same time.", minimum=1
)
FETCHER_MAX_EXCEPTIONS_PER_QUEUE = integer(
    "fetcher.max.exceptions.per.queue",
    5,
    "After so many failures in a row the rest of a queue is left for a later round; -1: never.",
    minimum=-1,
)
FETCHER_EXCEPTIONS_DELAY = duration(
    "fetcher.exceptions.per.queue.delay",
    FETCHER_SERVER_DELAY,
    "Further pause after a first failure; doubled with each one that follows.",
    unit="s",
)
FETCHER_HOST_DELAYS_FILE = file(
    "fetcher.host.delays.file",
    "host-delays.txt",
    "Pauses of single hosts: `host seconds [requests at the same time]`, `*.domain` for all below.",
)

_LONGEST_BACK_OFF_S = 86_400.0


@dataclass(frozen=True, slots=True)
class ServerPace:
    """How fast a server may be asked."""

    delay_s: float
    """Seconds from the end of a request to the start of the next."""
    at_once: int = 1
    """Requests at the same time."""


@dataclass(frozen=True, slots=True)
class Politeness:
    """The pace of every server."""

    usual: ServerPace
    ip_delay_s: float = 0.0
    min_crawl_delay_s: float = 0.0
    max_crawl_delay_s: float = 30.0
    """Negative: no bound."""
    max_exceptions: int = 5
    """Negative: no bound."""
    back_off_s: float = 5.0
    hosts: dict[str, ServerPace] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config) -> Politeness:
        at_once = config[FETCHER_THREADS_PER_QUEUE]
        usual = config[FETCHER_SERVER_DELAY]
        return cls(
            usual=ServerPace(usual if at_once == 1 else config[FETCHER_SERVER_MIN_DELAY], at_once),
            ip_delay_s=config[FETCHER_SERVER_IP_DELAY],
            min_crawl_delay_s=config[FETCHER_MIN_CRAWL_DELAY],
            max_crawl_delay_s=config[FETCHER_MAX_CRAWL_DELAY],
            max_exceptions=config[FETCHER_MAX_EXCEPTIONS_PER_QUEUE],
            back_off_s=config[FETCHER_EXCEPTIONS_DELAY],
            hosts=_host_paces(config),
        )

    def pace_of(self, key: str) -> ServerPace:
        """The pace of a queue before its robots.txt is known. Files of this machine, whose host
        is empty, have no server: they are read without a pause."""
        if not key:
            return ServerPace(0.0, self.usual.at_once)
        if not self.hosts:
            return self.usual
        name = key
        while name:
            if (name if name == key else f"*.{name}") in self.hosts:
                return self.hosts[name if name == key else f"*.{name}"]
            name = name.partition(".")[2]
        return self.usual

    def is_too_long(self, crawl_delay_s: float) -> bool:
        """Whether a robots.txt asks for more than may be waited."""
        return 0 <= self.max_crawl_delay_s < crawl_delay_s

    def with_crawl_delay(self, pace: ServerPace, crawl_delay_s: float) -> ServerPace | None:
        """The pace that a robots.txt asks for, one request at a time; None if it asks for
        more than may be waited."""
        if self.is_too_long(crawl_delay_s):
            return None
        delay_s = max(crawl_delay_s, self.min_crawl_delay_s)
        return ServerPace(max(delay_s, pace.delay_s), 1)

    def back_off(self, exceptions: int, jitter: float) -> float:
        """The further pause after the n-th failure in a row: doubled each time, and up to a
        quarter longer by a `jitter` of 0 to 1, so that queues do not come back all at once."""
        doubled = self.back_off_s * 2.0 ** min(exceptions - 1, 20)
        return min(doubled, _LONGEST_BACK_OFF_S) * (1 + jitter / 4)


def _host_paces(config: Config) -> dict[str, ServerPace]:
    paces: dict[str, ServerPace] = {}
    for number, line in enumerate(config.read(FETCHER_HOST_DELAYS_FILE).splitlines(), start=1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        try:
            host, delay, *rest = fields
            at_once = int(rest[0]) if rest else 1
            paces[host.lower()] = ServerPace(float(delay), at_once)
            if len(rest) > 1 or at_once < 1 or not 0 <= float(delay) < 1e9:
                raise ValueError
        except ValueError:
            source = config.source(FETCHER_HOST_DELAYS_FILE)
            raise ConfigError(
                f"{source}:{number}: expected `host seconds [requests at the same time]`,"
                f" got {line.strip()!r}"
            ) from None
    return paces
