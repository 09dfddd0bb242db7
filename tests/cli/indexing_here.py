"""Commands that index, in this process and without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crawl.spark.engine import SparkEngine
from crawl.tables.runner import InProcess, Runner


@contextmanager
def _runner(engine: SparkEngine, *_: Any, **__: Any) -> Iterator[Runner]:
    yield InProcess()


def index_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkEngine, "runner", _runner)
