"""The realtime lane as a whole: its parts, made and started in the order in which they need each
other, and ended in the other.

    intake → queue → dispatcher → lane → arrivals → parse stage → finisher
                                                                    → segments, store, listeners

It has a fixed number of threads: the dispatcher, the parse stage, the finisher, the caretaker, the
watch for batch fetches, the writers of the queue and of segments, the search's and those of the
lane's driver; and two further processes, in which pages are parsed and made to be searched.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT
from crawl.counters import Counters
from crawl.errors import CrawlError, StorageError
from crawl.fetcher.frontier.queue_stats import IdleQueues
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FetchSettings
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process.sandbox import Sandbox
from crawl.service import settings
from crawl.service.callers.scope import Scope
from crawl.service.caretaker import Caretaker, Chore
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.fetching.dispatcher import Dispatcher
from crawl.service.fetching.fetch_watch import FetchWatch
from crawl.service.fetching.lane import Lane
from crawl.service.fetching.owed_pauses import OwedPauses
from crawl.service.fetching.robots_waits import RobotsWaits, TimedRobots
from crawl.service.fetching.send_gate import NOBODY, SendGate
from crawl.service.fetching.shared_robots import SharedRobots
from crawl.service.finishing.finisher import FetchedFrom, Finisher
from crawl.service.finishing.outcomes import Limits
from crawl.service.finishing.parse_filters import with_parse_filters
from crawl.service.finishing.parse_stage import ParseStage
from crawl.service.finishing.record_parser import RecordParser
from crawl.service.finishing.recovered_answers import RecoveredAnswers
from crawl.service.finishing.related_images import RelatedImages
from crawl.service.finishing.stage_times import StageTimes
from crawl.service.finishing.warm_up import WarmUp
from crawl.service.intake.admission import Admission
from crawl.service.intake.decide import Policy
from crawl.service.intake.freshness import Freshness
from crawl.service.intake.ids import JobIds
from crawl.service.intake.intake import Intake
from crawl.service.intake.throughput import Throughput
from crawl.service.live_search import LiveSearch
from crawl.service.open_places import OpenPlaces, PlaceLost
from crawl.service.pages import Pages
from crawl.service.patience import Patience
from crawl.service.place import (
    QUEUE_FILE,
    folder_of,
    is_store_embedded,
    open_store_of,
    places_of,
)
from crawl.service.queues.embedded import EmbeddedQueue
from crawl.service.queues.queue import Queue
from crawl.service.segments.roll import SegmentRoll
from crawl.service.service_stats import ServiceStats
from crawl.service.settings import QueueBounds
from crawl.service.site_crawls.crawls import SiteCrawls
from crawl.service.site_crawls.ledger import Ledger
from crawl.service.stores.patience import PatientStore
from crawl.service.stores.store import Store
from crawl.service.telling.answers import Answers
from crawl.service.telling.listeners import AllListeners, Listener
from crawl.service.telling.waiters import Waiters
from crawl.service.values import Finished
from crawl.storage.crawl_dir import CrawlDir
from crawl.telemetry.meter import Meter
from crawl.urls.parse import host_of

_CARE_S = 1.0
_SLOW_CARE_S = 10.0
"""For what has a look at all hosts, or asks the store."""

_log = logging.getLogger(__name__)


class Service:
    """One crawl's realtime lane, in this process."""

    has_own_queue = True
    """Whether what waits is in the crawl's folder, which no other process has then."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        clock: Clock,
        further_listeners: Callable[[Store], Sequence[Listener]] = lambda store: (),
    ) -> None:
        """Opens the queue and the stores; raises Locked where another process has them."""
        self.crawl_dir = crawl_dir
        self.config = config
        self.clock = clock
        self.counters = Counters()
        self.meter = Meter()
        self._stack = ExitStack()
        self._fault: BaseException | None = None
        self._threads: list[threading.Thread] = []
        self._is_ready = False
        self._hosts = IdleQueues(0)
        self._published_ms = 0
        self.folder = folder_of(crawl_dir, config)
        self.is_store_embedded = is_store_embedded(config)
        """Whether to look something up takes less time than the way to another thread."""
        with self._stack:
            self._open(further_listeners)
            self._stack = self._stack.pop_all()

    def _open(self, further_listeners: Callable[[Store], Sequence[Listener]]) -> None:
        self._open_intake()
        self._open_fetching()
        self._open_finishing(further_listeners)

    def _open_queue(self) -> Queue:
        """Where what was taken on waits."""
        queue = EmbeddedQueue(self.folder / QUEUE_FILE, self.waits)
        self._shrink_queue = queue.shrink
        return queue

    def _open_intake(self) -> None:
        """What decides on wishes, and what it asks."""
        crawl_dir, config, clock, stack = self.crawl_dir, self.config, self.clock, self._stack
        self.waits = Patience(clock)
        self.queue = self._open_queue()
        stack.callback(self.queue.close)
        store = open_store_of(crawl_dir, config, clock)
        self.store = PatientStore(store, clock, self.counters, waits=self.waits)
        stack.callback(self.store.close)
        self._places = OpenPlaces(*places_of(crawl_dir, config))
        stack.callback(self._places.close)
        self.pages = Pages(self.store, self.counters)
        self.answers = Answers(self.store, clock, config[settings.ANSWERS_KEPT])
        self.waiters = Waiters()
        self._freshness = freshness = Freshness.of(config)
        self.admission = admission = Admission.of(config, self.counters)
        throughput = Throughput(clock)
        ids = JobIds(clock)
        self._throughput = throughput
        self.intake = Intake(
            admission,
            self.pages,
            self.queue,
            Policy(freshness, QueueBounds.of(config), config[settings.RELATED_IMAGES]),
            ids,
            clock,
            throughput,
            self.counters,
            on_queued=self._on_queued,
            require_storing=self._require_storing,
        )
        self.crawls = SiteCrawls(
            Ledger(self.store, clock),
            *(self.intake, admission, self.queue, ids, clock),
            keep_s=config[settings.ANSWERS_KEPT],
        )

    def _require_storing(self) -> None:
        """Raises what keeps new work from being stored, or finished, now."""
        self.require_running()
        self._require_place()
        if not self.waits.is_mine:
            self.waits.require_nobody_waits()

    def _require_place(self) -> None:
        """Raises PlaceLost where the folder is no longer where it was; then the service ends."""
        try:
            self._places.require()
        except PlaceLost as lost:
            self._fault = self._fault or lost
            raise

    def _on_queued(self) -> None:
        """There is something to be claimed, or room for it."""
        self._dispatcher.wake()

    def _open_fetching(self) -> None:
        """What asks servers, and is fed from the queue."""
        config, clock = self.config, self.clock
        self._robots = SharedRobots(self.store, clock, FetchSettings.of(config).robots_keep_s)
        self._robots_waits = RobotsWaits(clock)
        robots = TimedRobots(self._robots, self._robots_waits)
        self._arrivals = Arrivals(robots.add)
        self._owed = OwedPauses(self.store, self.folder, Politeness.of(config), clock)
        self._gate = gate = SendGate(clock)
        self._lane = Lane(
            *(config, clock, self._arrivals, robots.take, self._owed.take),
            may_send=gate.may_send,
        )
        self._fetched_from: FetchedFrom = self._lane
        self._watch = FetchWatch(
            *(self.crawl_dir, config, clock, self._lane, gate, self.counters),
            on_taken_back=lambda: self._dispatcher.taken_back(),
            require_place=self._require_place,
        )
        self._stack.callback(self._watch.close)
        self._dispatcher = Dispatcher(
            self.queue,
            self._lane,
            self.pages,
            clock,
            self.counters,
            on_known=lambda page: self._finisher.add_known(page),
            freshness=self._freshness,
            interval_s=int(config[DB_FETCH_INTERVAL_DEFAULT]),
            gate=gate,
            has_come=self.crawls.has_come,
            is_held_up=lambda: self.waits.is_waiting,
        )

    def _open_finishing(self, further_listeners: Callable[[Store], Sequence[Listener]]) -> None:
        """What parses, stores and tells."""
        crawl_dir, config, clock, stack = self.crawl_dir, self.config, self.clock, self._stack
        parsing = ParsePlan.from_config(with_parse_filters(config))
        self._sandbox = Sandbox(parsing, clock)
        stack.callback(self._sandbox.close)
        # it loads while all else is opened
        self._warm_up = WarmUp(self._sandbox)
        stack.callback(self._warm_up.wait)
        self.search = _search(crawl_dir, self.folder, config, clock, self.counters)
        if self.search is not None:
            stack.callback(self.search.close)
        # of its own, as it parses in another thread: what a service that died has left
        further = Sandbox(parsing, clock)
        stack.callback(further.close)
        self._roll = SegmentRoll(
            *(crawl_dir, config, clock, further.parse_table, self._published),
            is_shared=not self.has_own_queue,
            patience=self.waits,
            require_place=self._require_place,
        )
        parser = RecordParser(
            *(self._sandbox, self.queue, self.crawls),
            config[settings.MARKDOWN_SIZE],
            self.counters,
        )
        self._parses = ParseStage(self._arrivals, parser, clock)
        first: tuple[Listener, ...] = (self.answers, self.crawls)
        listeners = (*first, *further_listeners(self.store), self.waiters)
        self._finisher = Finisher(
            queue=self.queue,
            lane=self._fetched_from,
            arrivals=self._arrivals,
            admission=self.admission,
            pages=self.pages,
            roll=self._roll,
            parses=self._parses,
            images=RelatedImages(
                *(self.admission, self.pages, self._freshness, clock, self.counters),
                is_usual=config[settings.RELATED_IMAGES],
            ),
            limits=Limits(
                config[settings.TRIES], config[settings.REDIRECTS], config[settings.MAX_WAIT]
            ),
            listeners=AllListeners(listeners),
            links=self.crawls,
            clock=clock,
            counters=self.counters,
            throughput=self._throughput,
            stages=StageTimes(self.meter, self._robots_waits),
            search=self.search,
            on_room=self._on_queued,
            pause_of=self._pause_of,
        )
        self._caretaker = Caretaker(self._chores(), clock, self.counters)

    def _chores(self) -> list[Chore]:
        """What is to be done now and then."""
        return [
            Chore("robots_flush", _CARE_S, self._flush_robots),
            Chore("site_crawls", _CARE_S, self.crawls.tend),
            Chore("readiness", _CARE_S, self._look_whether_ready),
            Chore("pauses", _SLOW_CARE_S, self._keep_pauses),
            Chore("idle_hosts", _SLOW_CARE_S, self._retire_hosts),
            Chore("queue_file", _SLOW_CARE_S, self._shrink_queue),
        ]

    def start(self) -> None:
        """Goes on where the service before this one was, and takes what comes."""
        about = self.store.stats()
        for warning in about.warnings:
            _log.warning("%s: %s", about.store, warning)
        self._warm_up.wait()
        recovered = RecoveredAnswers(self.queue, self.pages, self.admission, self.counters)
        self._roll.recover(recovered.take)
        if self.search is not None:
            self.search.start()
        self._lane.keep_pauses(self._owed.begin())
        self._watch.open()
        self.crawls.resume()
        self._lane.start()
        feeding = self._patiently(self._dispatcher.run)
        self._feeding = self._thread("service-dispatcher", feeding)
        self._threads = [
            self._feeding,
            self._thread("service-parses", self._parses.run),
            self._thread("service-finisher", self._patiently(self._finisher.run)),
            self._thread("service-caretaker", self._caretaker.run),
            self._thread("service-fetch-watch", self._watch.run),
        ]

    def stop(self) -> None:
        """Ends in good order: requests under way are finished and stored, what waits stays in the
        queue, the open segment is published. Each part is ended, also where another cannot be
        or has ended by itself, and where not all of them were started."""
        try:
            self._stop()
        except CrawlError as error:
            if self.fault is None:
                raise
            # what it ended of is what its operator has to know
            _log.error("the service could not be ended in good order: %s", error)

    def _stop(self) -> None:
        with ExitStack() as stack:
            stack.push(self._stack)
            stack.callback(self._note_stats)
            stack.callback(self._save_crawls)
            stack.callback(self._robots.flush)
            stack.callback(self._end_pauses)
            stack.callback(self._roll.abandon)  # where the finisher could not close it
            for thread in self._threads:
                stack.callback(thread.join)
            stack.callback(self._watch.stop)
            stack.callback(self._parses.stop)
            stack.callback(self._lane.stop)
            if self._threads:
                stack.callback(self._feeding.join)
            stack.callback(self._dispatcher.stop)
            stack.callback(self.store.give_up)
            stack.callback(self._caretaker.stop)

    def _save_crawls(self) -> None:
        try:
            self.crawls.save()
        except StorageError as error:
            _log.warning("how far site crawls are is found out at the next start: %s", error)

    def _end_pauses(self) -> None:
        if self.fault is None:
            self._owed.end(self._lane.pauses().values())

    def _pause_of(self, host: str) -> float:
        """What a host is owed; one that is owed more than usual is, whatever happens to us."""
        pause_s = self._lane.pause_s(host)
        self._owed.keep_one(self._lane.key_of(host), pause_s)
        return pause_s

    def _note_stats(self) -> None:
        self.last_stats = self.stats()

    def close(self) -> None:
        """Lets go of what was opened, where it was never started."""
        self._stack.close()

    def serves(self, scope: Scope | None, path: str) -> bool:
        """Whether this process answers such requests; False for those of another role."""
        return True

    def require_running(self) -> None:
        """Raises why it has ended by itself."""
        if self.fault is not None:
            raise StorageError(f"the service has ended: {self.fault}") from self.fault

    def wait_for(self, job_id: str) -> Future[Finished]:
        """The end of a job, which may have come already."""
        future = self.waiters.wait_for(job_id)
        finished = self.answers.get(job_id)
        if finished is not None:
            self.waiters.tell([finished])
        return future

    def check(self) -> None:
        """Raises what keeps it from working."""
        self.require_running()
        self._require_place()
        self.store.check()
        self.queue.count()

    @property
    def fault(self) -> BaseException | None:
        """Why it ended by itself; None while it works."""
        return self._fault or self._lane.fault

    @property
    def fetch_at_work(self) -> str:
        """Which batch fetch of the crawl is at work, whose hosts wait; empty where none is."""
        return self._watch.fetch

    def is_left_to_fetch(self, url: str) -> bool:
        """Whether a batch fetch of the crawl asks the host of a URL at the moment."""
        yielded = self._gate.yielded
        return yielded is not NOBODY and self._lane.key_of(host_of(url) or "") in yielded

    def stats(self) -> ServiceStats:
        count = self.queue.count()
        names = {0: "high", 1: "normal", 2: "low"}
        return ServiceStats(
            waiting={names.get(each, str(each)): n for each, n in sorted(count.waiting.items())},
            claimed=count.claimed,
            in_lane=self._lane.count,
            per_second=self._throughput.per_second,
            counters=dict(sorted(self.counters.items())),
            is_ready=self._is_ready and self.fault is None and not self.store.failing_s,
            hosts=self._hosts,
            segment_age_s=self._roll.age_s,
            published_ms=self._published_ms,
            search_behind_s=0.0 if self.search is None else self.search.behind_s,
            store_failing_s=self.store.failing_s,
        )

    def _thread(self, name: str, run: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                run()
            except BaseException as fault:
                self._fault = self._fault or fault
                if not isinstance(fault, CrawlError):  # else its message says it all
                    _log.exception("%s ended", name)

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        thread.start()
        return thread

    def _patiently(self, run: Callable[[], None]) -> Callable[[], None]:
        """The work of a thread that waits for the store where it fails."""

        def waiting() -> None:
            with self.store.patience():
                run()

        return waiting

    # what the caretaker does

    def _look_whether_ready(self) -> None:
        try:
            self.check()
        except CrawlError:
            self._is_ready = False
            raise
        self._is_ready = True

    def _flush_robots(self) -> None:
        """What a robots.txt asks for is known before the file is: else it would be obeyed from the
        next request on, and not from the last."""
        self._robots.flush(before=self._keep_pauses)

    def _keep_pauses(self) -> None:
        self._owed.keep(self._lane.pauses().values())

    def _retire_hosts(self) -> None:
        self._hosts = self._lane.retire_idle(self.config[settings.IDLE])
        self.counters["hosts_retired"] += self._hosts.retired

    def _published(self, segment: str) -> None:
        self.counters["segments_published"] += 1
        self._published_ms = self.clock.now_ms()
        if self.search is not None:
            self.search.published(segment)


def _search(
    crawl_dir: CrawlDir, folder: Path, config: Config, clock: Clock, counters: Counters
) -> LiveSearch | None:
    """None where the extra `search` is not installed: all else works without."""
    if find_spec("tantivy") is None:
        return None
    return LiveSearch(crawl_dir, folder, config, clock, counters)
