"""What a session must have, and what it had better have: by its settings alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.spark import session
from crawl.spark.needs import refuse_other_jvm, refuse_wrong, remarks_on, remarks_on_unused
from crawl.spark.session import open_session

OURS = {**session._EVERYWHERE, "spark.master": "local[2,4]"}
NOTHING: dict[str, str] = {}


def test_our_own_settings_are_all_there_is_to_wish_for() -> None:
    refuse_wrong(OURS.get, {})
    assert remarks_on(OURS.get) == []


@pytest.mark.parametrize("value", ["true", "TRUE", " true "])
def test_speculation_is_refused(value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        refuse_wrong({"spark.speculation": value}.get, {})
    line = str(refused.value)
    assert line.startswith("spark.speculation is true: ") and "\n" not in line
    assert line.endswith("start the session with spark.speculation=false")
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"SPARK_CONNECT_MODE_ENABLED": "1"}, "this process uses Spark Connect"),
        ({"SPARK_REMOTE": "sc://host"}, "this process uses Spark Connect"),
        ({"PYSPARK_PIN_THREAD": "false"}, "PYSPARK_PIN_THREAD is not true"),
    ],
)
def test_what_a_process_must_not_be_set_to(environment: dict[str, str], line: str) -> None:
    with pytest.raises(ConfigError, match=f"^{line}"):
        refuse_wrong(NOTHING.get, environment)


def test_speculation_of_the_configuration_is_refused_before_a_jvm_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("a JVM was looked for")

    monkeypatch.setattr(session, "current_session", lambda: None)
    monkeypatch.setattr(session, "find_java", started)
    with pytest.raises(ConfigError, match="^spark.speculation is true"):
        open_session("test", Config.of({"spark.speculation": "true"}), master="local[2]")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"spark.serializer": "org.apache.spark.serializer.JavaSerializer"},
            "spark.serializer is org.apache.spark.serializer.JavaSerializer: rows that go from task"
            " to task are sorted the slow way; start the session with"
            " spark.serializer=org.apache.spark.serializer.KryoSerializer",
        ),
        (
            {"spark.python.worker.reuse": "false"},
            "spark.python.worker.reuse is false: every task starts a Python process of its own;"
            " start the session with spark.python.worker.reuse=true",
        ),
        (
            {"spark.sql.session.timeZone": "Asia/Tokyo"},
            "spark.sql.session.timeZone is Asia/Tokyo: times in --expr and in tables for Spark are"
            ' read and shown in it; spark.conf.set("spark.sql.session.timeZone", "UTC") sets it',
        ),
        (
            {"spark.master": "local[8]"},
            "master local[8]: a task that fails is not tried again; start the session with"
            " master local[8,4]",
        ),
    ],
)
def test_what_is_merely_slow_is_remarked_on(settings: dict[str, str], line: str) -> None:
    assert remarks_on({**OURS, **settings}.get) == [line]


def test_what_nobody_has_set_has_spark_s_own_value() -> None:
    told = [line.split(" ")[0] for line in remarks_on(NOTHING.get)]
    assert "spark.serializer" in told and "spark.python.worker.reuse" not in told
    assert remarks_on({**OURS, "spark.sql.session.timeZone": "Etc/UTC"}.get) == []


def test_settings_of_the_configuration_that_are_not_used_are_named_without_their_values() -> None:
    chosen = {"spark.a": "1", "spark.hadoop.fs.s3a.secret.key": "hunter2"}
    (line,) = remarks_on_unused(chosen, {"spark.a": "1"}.get)
    assert line.startswith("spark.hadoop.fs.s3a.secret.key of the configuration is not used")
    assert "hunter2" not in line


def test_a_second_session_of_a_process_has_the_first_one_s_jvm() -> None:
    first = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "8"}
    refuse_other_jvm({"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "9"}, first)
    refuse_other_jvm({"spark.driver.memory": "2g"}, None)
    with pytest.raises(ConfigError, match="^spark.driver.memory differs"):
        refuse_other_jvm({"spark.driver.memory": "2g"}, first)
    with pytest.raises(ConfigError, match="^spark.jars.packages differs"):
        refuse_other_jvm({"spark.jars.packages": "org:a:1"}, first)
