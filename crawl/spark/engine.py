"""The engine of operations (crawl/operations/work.py): a Spark session that is opened when it is
first needed and kept, as it takes seconds to start, and this process for small reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Self
from weakref import finalize

from crawl.config import Config
from crawl.operations.work import Work
from crawl.spark.jvm_death import jvm_deaths_told
from crawl.spark.runners import JVMDied, SparkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from crawl.tables.runner import Runner


class SparkEngine:
    """One session for all operations that are given this engine."""

    def __init__(self, config: Config, options: SparkOptions, application: str = "crawl") -> None:
        self.options = options
        self._config = config
        self._application = application
        """The name of the Spark application."""
        self._opened = ExitStack()
        # also where a program ends without `close`: later, Spark could not be stopped in peace
        finalize(self, self._opened.close)
        self._session: SparkSession | None = None
        self._opening = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops the session, if it was opened here and nobody else of this process has it."""
        with self._opening:
            self._session = None
            self._opened.close()

    def open_session(self) -> SparkSession:
        """The session that exists, or a new one that the last engine of this process to be closed
        stops."""
        from crawl.spark.shared_session import is_stopped

        with self._opening:
            if self._session is not None and is_stopped(self._session):
                self.close()
            if self._session is None:
                opened = self.options.session(self._application, self._config)
                self._session = self._opened.enter_context(opened)
            return self._session

    @contextmanager
    def runner(
        self, work: Work, *, rows: int | None = None, quiet: bool = False
    ) -> Iterator[Runner]:
        """A Runner on the session; on this process where `rows` says that this is quicker.
        `quiet`: the work shows its progress itself."""
        if self._session is None and self.options.is_small(rows):
            from crawl.tables.runner import InProcess

            yield InProcess(os.cpu_count() or 1, work.cancellation.require_not_asked)
            return
        with self.session(work) as session:
            yield observed_runner(session, work, quiet=quiet)

    @contextmanager
    def session(self, work: Work) -> Iterator[SparkSession]:
        """The session for a block of work, whose jobs end when it is cancelled; a JVM that dies
        meanwhile becomes JVMDied."""
        from crawl.spark.job_properties import jobs_of_operation

        session = self.open_session()
        try:
            with (
                jvm_deaths_told(),
                jobs_of_operation(session.sparkContext) as jobs,
                work.cancellation.calling(jobs.cancel),
            ):
                yield session
        except JVMDied:
            self.close()
            raise

    def task_slots(self, work: Work) -> int:
        """How many tasks run at the same time: the parts of a fetch list, if nobody says."""
        from crawl.spark.cores import task_slots

        with self.session(work) as session:
            return task_slots(session, work.notice)


def observed_runner(session: SparkSession, work: Work, *, quiet: bool = False) -> Runner:
    """A Runner on the session whose steps tell the work's observer how far they are."""
    from crawl.spark.progress import POLL_SECONDS
    from crawl.spark.tasks import SparkRunner

    is_quiet = quiet or work.observer.progress_seconds is None
    showing = partial(work.showing, poll_seconds=POLL_SECONDS)
    return SparkRunner(session, quiet=is_quiet, showing=showing)
