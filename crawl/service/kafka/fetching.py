"""The role that asks servers: jobs come from Kafka, what they brought goes there. It needs nothing
else: no store, no credentials, no crawl.

    membership → holdings → feeder → lane → arrivals → bringer → topic of results
                                                            └► then the job's message is done with
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT
from crawl.counters import Counters
from crawl.errors import ConfigError, StorageError
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_QUEUE_MODE
from crawl.robots.stored import StoredAnswer
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.fetching.lane import Lane
from crawl.service.fetching.robots_waits import RobotsWaits
from crawl.service.kafka.bringer import Bringer
from crawl.service.kafka.client import Kafka, prepare_topics
from crawl.service.kafka.feeder import Feeder
from crawl.service.kafka.holdings import Holdings
from crawl.service.kafka.host_topic import HostTopic
from crawl.service.kafka.lease import Lease
from crawl.service.kafka.membership import Membership
from crawl.service.kafka.ownership import Ownership
from crawl.service.kafka.partitions import Partitions
from crawl.service.kafka.sending_right import SendingRight
from crawl.service.kafka.values import KafkaSettings
from crawl.service.service_stats import ServiceStats
from crawl.service.settings import IDLE
from crawl.urls.partition import PartitionMode

_ENDS_S = 5.0

_log = logging.getLogger(__name__)


class FetchService:
    """One fetching process, from `start` to `stop`."""

    def __init__(self, config: Config, clock: Clock, settings: KafkaSettings) -> None:
        if PartitionMode(config[FETCHER_QUEUE_MODE]) is PartitionMode.BY_IP:
            raise ConfigError(
                f"{FETCHER_QUEUE_MODE.name}: with --role fetch a domain has one owner, not an"
                " address: expected byHost or byDomain"
            )
        self.counters = Counters()
        self._clock = clock
        self._settings = settings
        self._kafka = Kafka(settings)
        self._sender = self._kafka.sender(None)
        self._holdings = Holdings()
        self._lease = Lease(settings.session_s, settings.margin_s)
        self._right = SendingRight(
            Partitions(settings.partitions), self._lease, clock, self.counters
        )
        self._robots_waits = RobotsWaits(clock)
        self._arrivals = Arrivals(lambda answer: self._robots_waits.end(answer.authority))
        politeness = Politeness.of(config)
        self._lane = Lane(
            *(config, clock, self._arrivals, self._known_robots, lambda key: None),
            may_send=self._right.may_send,
        )
        self._feeder = Feeder(
            *(self._holdings, self._lane, self._right, clock),
            int(config[DB_FETCH_INTERVAL_DEFAULT]),
        )
        self._bringer = Bringer(
            holdings=self._holdings,
            arrivals=self._arrivals,
            sender=self._sender,
            topic=settings.topics.results,
            largest=settings.message_bytes,
            pause_of=self._lane.pause_s,
            robots_span=self._robots_waits.span,
            clock=clock,
            counters=self.counters,
            on_left=self._feeder.left_lane,
        )
        self._ownership = Ownership(
            settings=settings,
            right=self._right,
            holdings=self._holdings,
            lane=self._lane,
            feeder=self._feeder,
            hosts=HostTopic(
                *(self._kafka, self._sender, clock, politeness.usual.delay_s),
                partition_of=lambda host: self._right.partitions.of_host(host),
            ),
            sender=self._sender,
            politeness=politeness,
            clock=clock,
            counters=self.counters,
            idle_s=config[IDLE],
        )
        self._membership = Membership(
            self._kafka, self._lease, self._ownership, clock, self.counters
        )
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._fault: BaseException | None = None

    def _known_robots(self, authority: str) -> StoredAnswer | None:
        """None: what others know is in the store, which it does not have."""
        self._robots_waits.begin(authority)
        return None

    def start(self) -> None:
        """Joins the group; waits for brokers that come up."""
        count = prepare_topics(self._kafka, self._sender, self._clock, self._stopping)
        self._right.partitions = Partitions(count)
        self._lane.start()
        self._threads = [
            self._thread("kafka-membership", self._membership.run),
            self._thread("kafka-feeder", self._feeder.run),
            self._thread("kafka-bringer", self._bringer.run),
        ]

    def stop(self) -> None:
        """Leaves the group in good order: another takes over at once."""
        self._stopping.set()
        if not self._threads:
            self.close()
            return
        membership, feeder, bringer = self._threads
        self._membership.stop()
        membership.join()
        self._feeder.stop()
        feeder.join()
        self._lane.stop()
        self._bringer.stop()
        bringer.join(_ENDS_S)
        self._sender.close(_ENDS_S)
        bringer.join()

    def close(self) -> None:
        """Lets go of what was opened, where it was never started."""
        self._lane.stop()
        self._sender.close()

    @property
    def fault(self) -> BaseException | None:
        """Why it ended by itself; None while it works."""
        return self._fault or self._lane.fault

    def require_running(self) -> None:
        """Raises why it has ended by itself."""
        if self.fault is not None:
            raise StorageError(f"the service has ended: {self.fault}") from self.fault

    def check(self) -> None:
        """Raises what keeps it from working; owning nothing does not, as others may own all."""
        self.require_running()
        self._sender.check()
        if not self._threads:
            raise StorageError("it has not joined its group yet")
        if self._right.owned and not self._right.holds():
            raise StorageError("the lease is over: nobody is asked until the brokers answer")

    def figures(self) -> dict[str, int]:
        """How it is, for a look."""
        return {
            "partitions": len(self._right.owned),
            "held": self._holdings.count,
            "in_lane": self._lane.count,
            "unsent": self._sender.unsent,
            **dict(sorted(self.counters.items())),
        }

    def stats(self) -> ServiceStats:
        """The same, as every role says it."""
        claimed = self._holdings.claimed_count
        return ServiceStats(
            waiting={"normal": max(0, self._holdings.count - claimed)},
            claimed=claimed,
            in_lane=self._lane.count,
            per_second=0.0,
            counters=dict(sorted(self.counters.items())),
            is_ready=self.fault is None and self._right.holds(),
            hosts=self._ownership.hosts_seen,
            segment_age_s=0.0,
            published_ms=0,
            search_behind_s=0.0,
            store_failing_s=0.0,
        )

    @property
    def last_stats(self) -> ServiceStats:
        """How it was when it ended: what it held is somebody else's by now."""
        return replace(self.stats(), waiting={}, claimed=0)

    def _thread(self, name: str, run: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                run()
            except BaseException as fault:
                _log.exception("%s ended", name)
                self._fault = self._fault or fault
                # whatever ended: nobody is asked any more
                self._right.drop(self._right.owned)

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        thread.start()
        return thread
