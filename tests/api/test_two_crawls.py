"""Several crawls in one process, and sessions that somebody else has opened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# a process of its own, which opens, stops and kills sessions: all cases share its JVM
pytestmark = [pytest.mark.slow(seconds=60), pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("two")
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.api.two_crawls", str(folder)],
        cwd=root,
        env={**os.environ, "CRAWL_LOG_DIR": str(folder / "logs")},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, ran.stderr
    found: dict[str, Any] = json.loads(lines[0].removeprefix("RESULT "))
    return found


def test_two_threads_come_to_the_same_as_one_after_the_other(results: dict[str, Any]) -> None:
    one, other = results["at once"]
    assert one == other == results["in turn"]
    assert [status for _, status, _ in one].count("DB_FETCHED") > 10


def test_the_last_one_stops_the_session(results: dict[str, Any]) -> None:
    assert results["stopped"]


def test_other_settings_are_refused_by_name(results: dict[str, Any]) -> None:
    kind, code, line = results["other settings"]
    assert (kind, code) == ("ConfigError", 2)
    assert line.startswith("spark.locality.wait differs from that of another crawl")
    kind, code, line = results["other memory"]
    assert (kind, code) == ("ConfigError", 2)
    assert line.startswith("spark.driver.memory differs from that of the session before")


def test_speculation_is_refused_and_the_session_left_alone(results: dict[str, Any]) -> None:
    kind, code, line, count = results["speculation"]
    assert (kind, code, count) == ("ConfigError", 2, 3)
    assert line.endswith("start the session with spark.speculation=false")


def test_a_borrowed_session_is_told_once_what_it_lacks(results: dict[str, Any]) -> None:
    borrowed = results["borrowed"]
    keys = [line.split(" ")[0] for line in borrowed["told"]]
    assert keys == [
        "spark.serializer",
        "spark.shuffle.sort.bypassMergeThreshold",
        "spark.sql.execution.arrow.pyspark.enabled",
        "spark.sql.session.timeZone",
        "master",
        "spark.locality.wait",
    ]
    for line in borrowed["told"][:5]:
        assert "start the session with" in line or "spark.conf.set(" in line
    assert borrowed["told again"] == []
    assert (borrowed["group"], borrowed["count"]) == ("cell 7", 3)


def test_the_death_of_the_jvm_is_the_end_of_one_phase_of_each(results: dict[str, Any]) -> None:
    died, db_urls = results["killed"]
    # the other one finds it stopped, and opens the next one
    assert died == ["JVMDied", "not refused"]
    assert db_urls == [2, 2]
