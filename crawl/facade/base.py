"""A handle on a crawl: its folder, its settings, and the Spark session it works with.

Methods import what they work with when they are called: whoever looks up one URL does not
wait for the fetcher to be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Self
from weakref import finalize

from crawl.config import Config
from crawl.errors import UsageError
from crawl.spark.jvm_death import jvm_deaths_told
from crawl.spark.runners import JVMDied, SparkOptions
from crawl.storage.crawl_dir import CrawlDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from crawl.rounds.lanes import RoundObserver
    from crawl.rounds.on_spark import Displays
    from crawl.tables.runner import Runner


def _notebook_displays() -> Displays:
    from crawl.facade.progress import notebook_displays

    return notebook_displays()


def _no_displays() -> Displays:
    import logging

    from crawl.rounds.on_spark import Displays

    return Displays(notice=logging.getLogger("crawl").info)


def _logging_observer() -> RoundObserver:
    from crawl.facade.logged import LoggingObserver

    return LoggingObserver()


@dataclass(frozen=True, slots=True)
class HandleHooks:
    """What differs between a notebook and a command line: how progress is shown, who is
    informed about rounds, and the name of the Spark application."""

    application: str = "crawl"
    displays: Callable[[], Displays] = _notebook_displays
    """Makes what shows people how far the long steps are."""
    observer: Callable[[], RoundObserver] = _logging_observer
    """Makes what is informed about the steps of rounds."""


class Handle:
    """Opens Spark when it is first needed and keeps it: a session takes seconds to start."""

    def __init__(
        self,
        directory: CrawlDir,
        config: Config,
        spark: SparkOptions,
        hooks: HandleHooks | None = None,
    ) -> None:
        self._directory = directory
        self._config = config
        self._spark_options = spark
        self._hooks = hooks or HandleHooks(
            displays=_no_displays if spark.quiet else _notebook_displays
        )
        self._opened = ExitStack()
        # also where a program ends without `close`: later, Spark could not be stopped in peace
        finalize(self, self._opened.close)
        self._session: SparkSession | None = None
        self._opening = RLock()
        self._closed = False

    @property
    def address(self) -> str:
        """The folder, as it was named."""
        return self._directory.address

    def close(self) -> None:
        """Stops the Spark session, if it was opened here and no other crawl of this process has
        it. A closed crawl can do no more."""
        self._closed = True
        self._drop_session()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<crawl {self.address}{', closed' if self._closed else ''}>"

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Is around everything that a closed handle refuses."""
        if self._closed:
            raise UsageError(f"{self!r}: open it again with crawl.open({self.address!r})")
        try:
            yield
        except JVMDied:
            self._drop_session()
            raise

    def _drop_session(self) -> None:
        with self._opening:
            self._session = None
            self._opened.close()

    def _spark(self) -> SparkSession:
        """The session that exists, or a new one that the last crawl of this process to be closed
        stops."""
        from crawl.spark.shared_session import is_stopped

        with self._opening:
            if self._session is not None and is_stopped(self._session):
                self._drop_session()
            if self._session is None:
                opened = self._spark_options.session(self._hooks.application, self._config)
                self._session = self._opened.enter_context(opened)
            return self._session

    @contextmanager
    def _spark_session(self) -> Iterator[SparkSession]:
        """The session for a block of work; a JVM that dies meanwhile becomes JVMDied."""
        session = self._spark()
        with jvm_deaths_told():
            yield session

    @contextmanager
    def _runner(self, *, rows: int | None = None, quiet: bool = False) -> Iterator[Runner]:
        """A Runner on the session; on this process where `rows` says that this is quicker.
        `quiet`: the phase shows its progress itself."""
        options = self._spark_options
        if self._session is None and options.is_small(rows):
            with options.runner(self._hooks.application, self._config, rows=rows) as runner:
                yield runner
            return
        from crawl.spark.tasks import SparkRunner

        with self._spark_session() as session:
            yield SparkRunner(session, quiet=quiet or options.quiet)

    def _task_slots(self, session: SparkSession) -> int:
        """How many tasks run at the same time: the parts of a fetch list, if nobody says."""
        from crawl.spark.cores import task_slots

        return task_slots(session, self._hooks.displays().notice)
