"""A handle on a crawl: its folder, its settings, and the Spark session it works with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from crawl.buckets.runner import Runner
from crawl.config import Config
from crawl.errors import EnvironmentFault, UsageError
from crawl.facade.progress import notebook_displays
from crawl.spark.runners import JVMDied, SparkOptions
from crawl.storage.crawl_dir import CrawlDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Handle:
    """Opens Spark when it is first needed and keeps it: a session takes seconds to start."""

    def __init__(self, directory: CrawlDir, config: Config, spark: SparkOptions) -> None:
        self._directory = directory
        self._config = config
        self._spark_options = spark
        self._opened = ExitStack()
        self._session: SparkSession | None = None
        self._closed = False
        self._displays = notebook_displays(quiet=spark.quiet)

    @property
    def address(self) -> str:
        """The folder, as it was named."""
        return self._directory.address

    def close(self) -> None:
        """Stops the Spark session, if it was opened here. A closed crawl can do no more."""
        self._closed = True
        self._session = None
        self._opened.close()

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
        """Around everything that a closed handle refuses."""
        if self._closed:
            raise UsageError(f"{self!r}: open it again with crawl.open({self.address!r})")
        try:
            yield
        except JVMDied as error:
            self._session = None
            raise EnvironmentFault("Spark's JVM died; call the same method again") from error

    def _spark(self) -> SparkSession:
        """The session that exists, or a new one that `close` stops."""
        if self._session is None:
            opened = self._spark_options.session("crawl", self._config)
            self._session = self._opened.enter_context(opened)
        return self._session

    def _cores(self) -> int:
        return int(self._spark().sparkContext.defaultParallelism)

    @contextmanager
    def _runner(self, *, rows: int | None = None, quiet: bool = False) -> Iterator[Runner]:
        """A Runner on the session; on this process where `rows` says that this is quicker."""
        options = self._spark_options
        if self._session is None and options.is_small(rows):
            with options.runner("crawl", self._config, rows=rows) as runner:
                yield runner
            return
        from crawl.spark.tasks import SparkRunner

        yield SparkRunner(self._spark(), quiet=quiet or options.quiet)
