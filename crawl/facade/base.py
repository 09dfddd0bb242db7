"""The handle of methods that are not derived yet."""

from __future__ import annotations

from collections.abc import Iterator
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

    from crawl.tables.runner import Runner


@dataclass(frozen=True, slots=True)
class HandleHooks:
    """What differs between a notebook and a command line."""

    application: str = "crawl"


class Handle(NewHandle):
    """What methods that are not derived call."""

    def __init__(
        self,
        directory: CrawlDir,
        config: Config,
        spark: SparkOptions,
        hooks: HandleHooks | None = None,
    ) -> None:
        super().__init__(directory, config, spark, (hooks or HandleHooks()).application)
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

        return task_slots(session, self._plain_work.notice)
