"""The engine of the batch crawl, fed URL by URL: it alone sends requests, under the rules of every
server's robots.txt and at its pace.

Few URLs of a server are in it at a time; the others wait in the queue, on disk, so that neither
memory nor the other servers have to do with how many there are.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.drivers.threaded import ThreadedDriver
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.frontier.queue_stats import IdleQueues
from crawl.fetcher.values import settings
from crawl.fetcher.values.hooks import EngineHooks, KnownServer, address_lookup, queue_keys
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.politeness import FETCHER_THREADS_PER_QUEUE, Politeness
from crawl.fetcher.values.settings import FetchSettings
from crawl.model.datum import CrawlDatum
from crawl.robots.stored import StoredAnswer
from crawl.service.arrivals import Arrivals
from crawl.service.settings import LOOKUP_THREADS, REQUESTS

MAX_PER_HOST = 3
"""One that is asked for and one that follows as soon as the server's pause is over; more where
`fetcher.threads.per.queue` allows more requests at a time."""
MAX_URLS = 4096
"""In the engine, of all servers."""
ENDS = "service_ends"


class Lane:
    """Fetches what it is fed, with threads of its own, from `start` to `stop`."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        arrivals: Arrivals,
        known_robots: Callable[[str], StoredAnswer | None],
        known_server: Callable[[str], KnownServer | None],
        may_send: Callable[[FetchItem], bool | str] | None = None,
    ) -> None:
        self._clock = clock
        self._protocols = Protocols(resolved_protocols(config), config)
        politeness = Politeness.of(config)
        address_of = address_lookup(self._protocols.resolver)
        self._key_of = queue_keys(config, address_of)
        hooks = EngineHooks(
            key_of=self._key_of,
            clock=clock,
            rng=random.Random(),
            accept_target=lambda url: (None, "left_to_the_service"),
            address_of=address_of if politeness.ip_delay_s > 0 else None,
            known_robots=known_robots,
            known_server=known_server,
            on_returned=arrivals.add_returned,
            may_send=may_send,
        )
        self.engine = FetchEngine(
            iter(()), _settings_of(config), politeness, hooks, arrivals, is_fed=True
        )
        self._driver = ThreadedDriver(
            self.engine,
            self._protocols.fetch,
            config[REQUESTS],
            clock,
            hang_s=config[settings.FETCHER_HANG],
            transfers=self._protocols.transfers(),
            blocking_threads=config[LOOKUP_THREADS],
        )
        self.max_per_host: int = max(MAX_PER_HOST, config[FETCHER_THREADS_PER_QUEUE] + 1)
        self._urls: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="service-lane", daemon=True)
        self.fault: BaseException | None = None
        """Why it ended before it was stopped."""

    def start(self) -> None:
        self._thread.start()

    def stop(self, reason: str = ENDS) -> None:
        """Takes nothing more; requests under way are finished, what waits is given back."""
        self._driver.stop(reason)
        self._thread.join()

    @property
    def count(self) -> int:
        """How many URLs are in it."""
        return len(self._urls)

    def room(self) -> int:
        """How many URLs more may be fed."""
        return MAX_URLS - len(self._urls)

    def has(self, url: str) -> bool:
        """Whether a URL is in it."""
        return url in self._urls

    def feed(self, url: str, datum: CrawlDatum) -> None:
        """Has a URL fetched that is not in it. What comes of it comes to the arrivals: exactly one
        record, or the URL itself with the reason."""
        self._urls.add(url)
        self._driver.feed(url, datum, again=True)

    def ended(self, url: str) -> None:
        """To be called when what came of a URL was taken in: it may be fed again."""
        self._urls.discard(url)

    def pause_s(self, host: str) -> float:
        """How long a host must not be asked."""
        key, now = self._key_of(host), self._clock.monotonic()
        return self._driver.with_engine(lambda engine: engine.pause_of(key, now))

    def pauses(self) -> dict[str, ServerState]:
        """What all servers are owed, for who asks them next."""
        now = self._clock.monotonic()
        return self._driver.with_engine(lambda engine: engine.pauses(now))

    def keep_pauses(self, states: Iterable[ServerState]) -> None:
        """Owes servers what another engine did that asked them before."""
        now = self._clock.monotonic()
        self._driver.with_engine(lambda engine: engine.keep_pauses(states, now))

    def retire_idle(self, older_than_s: float) -> IdleQueues:
        """Drops queues that had nothing to do for so long and owe no pause; statistics."""
        now = self._clock.monotonic()
        return self._driver.with_engine(lambda engine: engine.retire_idle(now, older_than_s))

    def _run(self) -> None:
        try:
            self._driver.run()
        except BaseException as fault:
            self.fault = fault
        finally:
            self._protocols.close()


def _settings_of(config: Config) -> FetchSettings:
    """Those of the crawl, but that redirects are the service's to follow, and that a host whose
    robots.txt cannot be had fails at once: somebody is waiting for an answer."""
    usual = FetchSettings.of(config)
    return replace(
        usual,
        store_content=True,
        redirect_max=0,
        robots_defer_retries=0,
        leave_alone_s=usual.robots_defer_s,
        tail_wait_s=math.inf,
        tail_silence_s=math.inf,
    )
