from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from crawl.spark.progress import (
    LINE_SECONDS,
    PATIENCE_SECONDS,
    Bar,
    Lines,
    Tally,
    _watched,
    progress,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HandClock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def now_ms(self) -> int:
        return 0

    def monotonic(self) -> float:
        return self.seconds


def test_a_short_step_writes_no_line() -> None:
    stream, clock = io.StringIO(), HandClock()
    lines = Lines("generate: scan", stream, clock)
    lines.show(Tally(1, 64))
    clock.seconds += PATIENCE_SECONDS / 2
    lines.show(Tally(2, 64))
    lines.close()
    assert stream.getvalue() == ""


def test_a_long_step_writes_a_line_now_and_then() -> None:
    stream, clock = io.StringIO(), HandClock()
    lines = Lines("generate: scan", stream, clock)
    clock.seconds += PATIENCE_SECONDS
    lines.show(Tally(12, 64))
    clock.seconds += LINE_SECONDS / 2
    lines.show(Tally(20, 64))
    clock.seconds += LINE_SECONDS / 2
    lines.show(Tally(30, 64))
    assert stream.getvalue().splitlines() == [
        "generate: scan: 12 of 64 tasks, 3 s",
        "generate: scan: 30 of 64 tasks, 8 s",
    ]


def test_an_unknown_total_is_not_claimed() -> None:
    assert str(Tally(3, 0)) == "3 tasks"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_names_the_step_and_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    bar = Bar("generate: [scan]", stream)
    bar.show(Tally(12, 64))
    bar.close()
    assert "generate: [scan]" in stream.getvalue()
    assert "12/64" in stream.getvalue()


def test_a_display_that_fails_does_not_harm_the_work() -> None:
    class Broken:
        closed = False

        def show(self, tally: Tally) -> None:
            raise OSError("the terminal is gone")

        def close(self) -> None:
            self.closed = True

    display = Broken()
    with _watched(lambda: Tally(0, 1), display):
        done = True
    assert done
    assert display.closed


@pytest.mark.spark
def test_spark_is_told_phase_and_step_and_forgets_them(spark: SparkSession) -> None:
    context = spark.sparkContext
    with progress(spark, "generate: scan", quiet=True):
        group = context.getLocalProperty("spark.jobGroup.id")
        assert context.getLocalProperty("spark.job.description") == "generate: scan"
        assert context.parallelize([1, 2, 3], 3).sum() == 6
    assert group is not None
    assert len(context.statusTracker().getJobIdsForGroup(group)) == 1
    assert context.getLocalProperty("spark.job.description") is None
    assert context.getLocalProperty("spark.jobGroup.id") is None
