"""The engine of the batch crawl, fed URL by URL: it alone sends requests, under the rules of every
server's robots.txt and at its pace.

Few URLs of a server are in it at a time; the others wait in the queue, on disk, so that neither
memory nor the other servers have to do with how many there are.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import EnvironmentFault
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
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.settings import LOOKUP_THREADS, REQUESTS

MAX_PER_HOST = 3
"""One that is being finished, one that is asked for and one that follows as soon as the server's
pause is over, as long as finishing takes no longer than that; more where
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
        self.key_of = queue_keys(config, address_of)
        """The key of a host's queue: the host, its domain or its address."""
        hooks = EngineHooks(
            key_of=self.key_of,
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
        self._urls: dict[str, list[str]] = {}
        """What is in it, with the jobs that came for a URL while it was."""
        self._lock = threading.Lock()
        """Guards them: the dispatcher feeds, the finisher takes out."""
        self._is_stopped = self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="service-lane", daemon=True)
        self.fault: BaseException | None = None
        """Why it ended before it was stopped."""

    def start(self) -> None:
        self._thread.start()

    def stop(self, reason: str = ENDS) -> None:
        """Takes nothing more; requests under way are finished, what waits is given back."""
        self._is_stopped = self._has_ended = True
        self._driver.stop(reason)
        if self._thread.ident is not None:
            self._thread.join()
        else:
            self._protocols.close()

    @property
    def count(self) -> int:
        """How many URLs are in it."""
        return len(self._urls)

    def room(self) -> int:
        """How many URLs more may be fed; none when it has ended, by itself or not."""
        return 0 if self._has_ended else MAX_URLS - len(self._urls)

    def has(self, url: str) -> bool:
        """Whether a URL is in it."""
        return url in self._urls

    def feed(self, url: str, datum: CrawlDatum, job_id: str = "") -> bool:
        """Has a URL fetched. What comes of it comes to the arrivals: exactly one record, or the URL
        itself with the reason. False where it is in the lane already: the job has its answer as
        well, or is among those that `ended` returns."""
        with self._lock:
            late = self._urls.get(url)
            if late is not None:
                late.append(job_id)
                return False
            self._urls[url] = []
        self._driver.feed(url, datum, again=True)
        return True

    def ended(self, url: str) -> Sequence[str]:
        """To be called when what came of a URL was taken in: it may be fed again. The jobs that
        came for it meanwhile: those that the answer did not end must be claimed anew, as nobody
        else looks after them."""
        with self._lock:
            return self._urls.pop(url, ())

    def pause_s(self, host: str) -> float:
        """How long a host must not be asked."""
        key, now = self.key_of(host), self._clock.monotonic()
        return self._driver.with_engine(lambda engine: engine.pause_of(key, now))

    def pauses(self) -> dict[str, ServerState]:
        """What all servers are owed, for who asks them next."""
        now = self._clock.monotonic()
        return self._driver.with_engine(lambda engine: engine.pauses(now))

    def long_pauses(self, longer_than_s: float) -> list[ServerState]:
        """What servers are owed that must be left alone for longer than that, now or after each
        request."""
        now = self._clock.monotonic()
        return self._driver.with_engine(lambda engine: _long_pauses(engine, now, longer_than_s))

    def give_back(self, is_lost: Callable[[str], bool], reason: str) -> None:
        """Gives back what waits for servers of these keys, which somebody else asks from now on."""
        self._driver.with_engine(lambda engine: engine.give_back(is_lost, reason))

    def under_way(self, is_asked: Callable[[str], bool]) -> int:
        """How many requests to servers of these keys have not ended."""
        return self._driver.with_engine(
            lambda engine: sum(
                queue.in_progress
                for queue in engine.queues
                if queue.in_progress and is_asked(queue.key)
            )
        )

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
            self._has_ended = True
            # what has no answer is given back: of requests that hang, too
            self._driver.with_engine(FetchEngine.finish)
            if not self._is_stopped:
                reason = self.engine.stopped or "it had nothing more to do"
                self.fault = EnvironmentFault(f"the fetcher ended by itself: {reason}")
        except BaseException as fault:
            self._has_ended = True
            self.fault = fault
        finally:
            self._protocols.close()


def _long_pauses(engine: FetchEngine, now: float, longer_than_s: float) -> list[ServerState]:
    states: list[ServerState] = []
    for queue in engine.queues:
        until = max(queue.ready_at, engine.queues.closed_until(queue.key))
        if until > now + longer_than_s or queue.min_delay_s > longer_than_s:
            states.append(
                ServerState(
                    *(queue.key, max(0.0, until - now), queue.exceptions),
                    *("", max(0.0, until - now)),
                    *(queue.min_delay_s, queue.wait_reason),
                )
            )
    return states


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
