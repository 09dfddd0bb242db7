"""How a command comes to a Runner: Spark, or this process for a small read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawl.config import Config
from crawl.spark.jvm_death import JVMDied, jvm_deaths_told
from crawl.spark.master import is_submitted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["JVMDied", "SparkOptions"]

SMALL_ROWS = 2_000_000
"""Reading a table up to this size here takes less time than starting a JVM."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """What the command line says about Spark."""

    master: str | None
    quiet: bool
    starting: Callable[[], AbstractContextManager[object]] = nullcontext
    """Is around the start of a session, which takes seconds."""

    @contextmanager
    def session(self, name: str, config: Config) -> Iterator[SparkSession]:
        """A session that is stopped at the end, unless somebody else had opened it or uses it."""
        with ExitStack() as taken:
            with self.starting():
                from crawl.spark.shared_session import shared_session

                spark = taken.enter_context(shared_session(name, config, self.master))
            with jvm_deaths_told():
                yield spark

    def is_small(self, rows: int | None) -> bool:
        """Whether a read of so many rows is quicker in this process, and nobody has asked for
        a cluster."""
        asked_for_spark = self.master is not None or is_submitted()
        return rows is not None and rows <= SMALL_ROWS and not asked_for_spark
