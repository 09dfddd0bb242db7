"""The handle of methods that are not derived yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawl.api.handle import Handle as NewHandle
from crawl.api.notebook import notebook_observer
from crawl.config import Config
from crawl.operations.work import Work
from crawl.spark.runners import SparkOptions
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
    """What differs between a notebook and a command line."""

    application: str = "crawl"
    displays: Callable[[], Displays] = _notebook_displays
    observer: Callable[[], RoundObserver] = _logging_observer


class Handle(NewHandle):
    """What methods that are not derived call."""

    def __init__(
        self,
        directory: CrawlDir,
        config: Config,
        spark: SparkOptions,
        hooks: HandleHooks | None = None,
    ) -> None:
        self._hooks = hooks or HandleHooks(
            displays=_no_displays if spark.quiet else _notebook_displays
        )
        super().__init__(directory, config, spark, self._hooks.application)
        self._directory = directory

    @property
    def _spark_options(self) -> SparkOptions:
        return self._engine.options

    @property
    def _plain_work(self) -> Work:
        observer = notebook_observer(quiet=self._engine.options.quiet)
        return Work("crawl", self._config, self._engine, self._crawl, observer)

    @contextmanager
    def _working(self) -> Iterator[None]:
        self._require_open()
        yield

    def _drop_session(self) -> None:
        self._engine.close()

    def _spark(self) -> SparkSession:
        return self._engine.open_session()

    def _spark_session(self) -> AbstractContextManager[SparkSession]:
        return self._engine.session(self._plain_work)

    def _runner(
        self, *, rows: int | None = None, quiet: bool = False
    ) -> AbstractContextManager[Runner]:
        return self._engine.runner(self._plain_work, rows=rows, quiet=quiet)

    def _task_slots(self, session: SparkSession) -> int:
        from crawl.spark.cores import task_slots

        return task_slots(session, self._hooks.displays().notice)
