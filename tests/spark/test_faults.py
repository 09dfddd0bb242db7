"""Ctrl-C while a step waits for the JVM: whatever fails in its wake, it stays Ctrl-C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]

from crawl.spark.faults import TaskError, reported_faults
from crawl.spark.progress import progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SilentContext:
    """A context whose JVM answers until somebody interrupts, and never after."""

    def __init__(self) -> None:
        self.is_silent = False
        self.asked: list[str] = []

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.is_silent:
            raise Py4JNetworkError("Answer from Java side is empty")

    def getLocalProperty(self, _: str) -> None:  # noqa: N802
        """The caller has set nothing."""

    def setJobGroup(self, *_: object, **__: object) -> None:  # noqa: N802
        self._ask("setJobGroup")

    def cancelJobGroup(self, _: str) -> None:  # noqa: N802
        self._ask("cancelJobGroup")

    def setLocalProperty(self, *_: object) -> None:  # noqa: N802
        self._ask("setLocalProperty")


class SilentSession:
    def __init__(self) -> None:
        self.sparkContext = SilentContext()

    @property
    def conf(self) -> Any:
        raise AssertionError("nobody asks a JVM that is silent")


def session() -> tuple[SparkSession, SilentContext]:
    made = SilentSession()
    return cast("SparkSession", made), made.sparkContext


def test_ctrl_c_stays_ctrl_c_where_pyspark_cannot_clean_up_after_it() -> None:
    spark, _ = session()
    with pytest.raises(KeyboardInterrupt), reported_faults(spark, "parse"):
        try:
            raise KeyboardInterrupt
        finally:
            raise Py4JNetworkError("Answer from Java side is empty")


def test_ctrl_c_stays_ctrl_c_where_the_jobs_cannot_be_cancelled() -> None:
    spark, context = session()
    with pytest.raises(KeyboardInterrupt), progress(spark, "parse", quiet=True):
        context.is_silent = True
        raise KeyboardInterrupt
    assert context.asked[:2] == ["setJobGroup", "cancelJobGroup"]


def test_an_error_of_the_jvm_alone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    spark, _ = session()
    monkeypatch.setattr("crawl.spark.faults.log_file_of", lambda _: None)
    told = pytest.raises(TaskError, match="^parse: a task failed: the JVM said no$")
    with told, reported_faults(spark, "parse"):
        try:
            raise ValueError("before")
        except ValueError:
            raise Py4JError("the JVM said no") from None
