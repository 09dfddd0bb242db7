"""What executors of somebody else's session have and lack; their answers are made up."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pyspark import cloudpickle

import crawl
from crawl.config import Config
from crawl.errors import ConfigError
from crawl.spark import borrowed

WHOLE: dict[str, str | None] = {
    "python": "/opt/python",
    "crawl": crawl.__version__,
    "pyarrow": "25",
    "numpy": "2",
}


class FakeContext:
    def __init__(self) -> None:
        self.files: list[str] = []

    def addPyFile(self, path: str) -> None:  # noqa: N802
        self.files.append(path)


class FakeSession:
    def __init__(self) -> None:
        self.sparkContext = FakeContext()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """What a task finds; it may be changed."""
    found = dict(WHOLE)
    monkeypatch.setattr(borrowed, "_versions_on_executor", lambda _: found)
    monkeypatch.setattr(borrowed, "_value_of", lambda _, key: None)
    return found


def test_executors_without_our_code_are_sent_it_once(looks: dict[str, str | None]) -> None:
    looks["crawl"] = None
    spark: Any = FakeSession()
    for _ in range(2):
        borrowed.check_borrowed(spark, Config.of({}))
    (archive,) = spark.sparkContext.files
    assert archive.endswith("nutria-code.zip")


def test_executors_with_our_code_are_sent_nothing(looks: dict[str, str | None]) -> None:
    spark: Any = FakeSession()
    borrowed.check_borrowed(spark, Config.of({}))
    assert spark.sparkContext.files == []


@pytest.mark.parametrize(
    ("lacking", "line"),
    [
        (
            {"pyarrow": None},
            "executors of this Spark session run /opt/python, which has no pya",
        ),
        ({"crawl": "0.0.1"}, "executors of this Spark session have crawl 0.0.1, the driver"),
        ({"crawl": ""}, "executors of this Spark session have crawl of another package"),
    ],
)
def test_what_is_wrong_is_refused_each_time(
    looks: dict[str, str | None], lacking: dict[str, str | None], line: str
) -> None:
    looks |= lacking
    spark: Any = FakeSession()
    for _ in range(2):
        with pytest.raises(ConfigError, match=f"^{line}"):
            borrowed.check_borrowed(spark, Config.of({}))


def test_the_look_at_an_executor_needs_nothing_of_ours_there() -> None:
    """Its code travels: the name of a module would be asked for where there is none."""
    pickler: Any = cloudpickle
    sent = pickler.dumps(borrowed._sent_as_code(borrowed._versions))
    assert b"crawl.spark" not in sent
    look = pickle.loads(sent)
    (found,) = look([("crawl", "numpy", "no_such_package")])
    assert found["crawl"] == crawl.__version__
    assert found["no_such_package"] is None and found["numpy"]
