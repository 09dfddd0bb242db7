"""Work: what an operation is run with: the crawl, its settings, the engine, and who holds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from crawl.clock import Clock, SystemClock
from crawl.errors import Cancelled, UsageError
from crawl.operations.events import (
    Look,
    Notice,
    ObservedDisplay,
    Observer,
    Remark,
    SilentObserver,
    StepBegan,
)
from crawl.operations.interrupt import stop_on_signal
from crawl.telemetry.progress import shown_progress

if TYPE_CHECKING:
    from crawl.config import Config
    from crawl.storage.crawl_dir import CrawlDir
    from crawl.tables.runner import Runner


class Engine(Protocol):
    """Where work is done: on Spark, which is started when it is first needed, or in this process
    for a small read."""

    def runner(
        self, work: Work, *, rows: int | None = None, quiet: bool = False
    ) -> AbstractContextManager[Runner]:
        """A Runner; of this process where `rows` says that this is quicker. `quiet`: the work
        shows its progress itself."""
        ...

    def session(self, work: Work) -> AbstractContextManager[Any]:
        """The Spark session for a block of work, whose jobs are the work's."""
        ...

    def task_slots(self, work: Work) -> int:
        """How many tasks run at the same time."""
        ...


class Cancellation:
    """Whether whoever holds an operation wants it to end, and what is called then."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._calls: list[Callable[[], None]] = []
        self._changing = threading.Lock()

    @property
    def is_asked(self) -> bool:
        return self._asked.is_set()

    def cancel(self) -> None:
        """Ends the work under way. May be called again: what began meanwhile, such as a Spark job,
        is not among what was ended the first time."""
        self._asked.set()
        with self._changing:
            calls = list(self._calls)
        for call in calls:
            call()

    def require_not_asked(self) -> None:
        """Raises Cancelled where there is no point in beginning anything."""
        if self.is_asked:
            raise Cancelled("cancelled")

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        """Has a cancellation that comes while the block runs, or came before, call something."""
        with self._changing:
            self._calls.append(call)
        try:
            if self.is_asked:
                call()
            yield
        finally:
            with self._changing:
                self._calls.remove(call)


@dataclass(frozen=True, slots=True)
class Work:
    """What an operation is run with."""

    operation: str
    config: Config
    engine: Engine
    crawl: CrawlDir | None = None
    observer: Observer = field(default_factory=SilentObserver)
    cancellation: Cancellation = field(default_factory=Cancellation)
    clock: Clock = field(default_factory=SystemClock)
    lines: Iterable[str] | None = None
    """What comes in line by line, from stdin or a socket, in place of the URLs that were given."""
    words: Callable[[str], str] = str
    """Puts what is said of the operation's options into the words of its caller."""
    resources: dict[str, Any] = field(default_factory=dict)
    """What stays open for the next operation of the same handle, by name."""

    @property
    def directory(self) -> CrawlDir:
        """The crawl's folder, of an operation that is about one."""
        if self.crawl is None:
            raise UsageError(f"{self.operation}: no crawl was named")
        return self.crawl

    def incoming(self, urls: Sequence[str]) -> Iterator[str]:
        """What is to be answered one by one: the lines that come in, or the URLs that were
        given."""
        if self.lines is None and not urls:
            raise UsageError("give either URLs or --stdin or --listen")
        return iter(urls if self.lines is None else self.lines)

    def with_settings(self, settings: Mapping[str, object], origin: str) -> Work:
        """The same with other settings."""
        return replace(self, config=self.config.with_values(settings, origin))

    def ending_itself(self) -> Work:
        """The same for work that ends by itself when it is asked to (`stopping`): a cancellation
        leaves its Spark jobs alone."""
        self.cancellation.require_not_asked()
        return replace(self, cancellation=Cancellation())

    def runner(
        self, *, rows: int | None = None, quiet: bool = False
    ) -> AbstractContextManager[Runner]:
        """See Engine."""
        self.cancellation.require_not_asked()
        return self.engine.runner(self, rows=rows, quiet=quiet)

    def session(self) -> AbstractContextManager[Any]:
        """See Engine."""
        self.cancellation.require_not_asked()
        return self.engine.session(self)

    def task_slots(self) -> int:
        """See Engine."""
        return self.engine.task_slots(self)

    def remark(self, text: str) -> None:
        """A line for whoever operates the crawl."""
        self.observer.on_event(Remark(self.operation, self.words(text)))

    def notice(self, text: str) -> None:
        """A line about how it goes."""
        self.observer.on_event(Notice(self.words(text)))

    def showing(
        self, step: str, look: Look, *, poll_seconds: float | None = None
    ) -> AbstractContextManager[None]:
        """Tells how far a step is while the block runs, if anybody wants to know: as often as they
        want, or as a look costs nothing."""
        seconds = self.observer.progress_seconds
        if seconds is None:
            return nullcontext()
        self.observer.on_event(StepBegan(step))
        display = ObservedDisplay(step, self.observer, seconds)
        return shown_progress(display, look, poll_seconds=poll_seconds)

    @contextmanager
    def stopping(self, request_stop: Callable[[], None]) -> Iterator[Callable[[], bool]]:
        """For work that can end in good order: the first signal and a cancellation call
        `request_stop`, the second signal raises KeyboardInterrupt. Yields a function that says
        whether anybody asked."""
        with (
            stop_on_signal(request_stop, self.operation, self.notice) as interrupted,
            self.cancellation.calling(request_stop),
        ):
            yield lambda: interrupted() or self.cancellation.is_asked
