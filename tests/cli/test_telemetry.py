"""--log-format, and what commands say under it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from crawl.telemetry import logs
from tests.cli.calling import Caller
from tests.telemetry.collector import collecting

ASKING = [["--log-format", "json"], ["-D", "log.format=json"]]


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("asking", ASKING, ids=["option", "property"])
def test_the_answer_stays_on_stdout_as_it_was(crawl: Caller, made: str, asking: list[str]) -> None:
    plain = crawl("readdb", made, "--stats", "--json")
    answer = crawl("readdb", made, "--stats", "--json", *asking)
    assert answer.code == 0
    assert answer.json == plain.json
    for line in lines_of(answer.err):
        assert line["command"] == "readdb"
        assert line["crawl"] == made
    assert not logs.is_json(), "only for the command"


@pytest.mark.parametrize("asking", ASKING, ids=["option", "property"])
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["readdb", "NOWHERE", "--stats"], 2, "has no CrawlDb"),
        (["readdb"], 2, "Missing argument"),
        (["readdb", "c", "-D", "no.such.key=1"], 2, "unknown property"),
        (["nonsense"], 2, "no command 'nonsense'"),
    ],
)
def test_a_fault_is_one_line_of_json(
    crawl: Caller, tmp_path: Path, asking: list[str], arguments: list[str], code: int, says: str
) -> None:
    arguments = [str(tmp_path / "none") if word == "NOWHERE" else word for word in arguments]
    answer = crawl(*arguments, *asking)
    assert answer.code == code
    assert answer.out == ""
    (line,) = lines_of(answer.err)
    assert line["level"] == "error"
    assert says in line["message"]
    assert line["exit_code"] == code
    assert line["exception"]["type"]


def test_text_is_the_default(crawl: Caller, tmp_path: Path) -> None:
    answer = crawl("readdb", tmp_path / "none", "--stats")
    assert answer.err.startswith("crawl: ")


def test_the_last_word_counts(crawl: Caller, tmp_path: Path) -> None:
    asking = ["-D", "log.format=json", "--log-format", "text"]
    answer = crawl("readdb", tmp_path / "none", "--stats", *asking)
    assert answer.err.startswith("crawl: ")


def test_a_wrong_format_is_reported(crawl: Caller, made: str) -> None:
    answer = crawl("readdb", made, "--stats", "-D", "log.format=xml")
    assert answer.code == 2
    assert "log.format: expected" in answer.err


def test_a_command_says_where_it_can_be_scraped(crawl: Caller, made: str) -> None:
    answer = crawl("readdb", made, "--stats", "-D", "metrics.prometheus.port=0")
    assert answer.code == 0
    (metrics_line,) = [line for line in answer.err.splitlines() if "metrics at" in line]
    assert metrics_line.startswith("readdb: metrics at http://127.0.0.1:")
    with pytest.raises(OSError):
        urllib.request.urlopen(metrics_line.rpartition(" ")[2], timeout=5)


def test_a_command_is_a_span_with_its_tasks_below(crawl: Caller, made: str) -> None:
    with collecting() as collector:
        answer = crawl("readdb", made, "--stats", "-D", f"traces.otlp.endpoint={collector.url}")
        (command,) = collector.named("crawl readdb")
        tasks = collector.named("readdb task")
    assert answer.code == 0
    assert command.attributes["nutria.crawl"] == made
    assert tasks
    assert {task.parent for task in tasks} == {command.id}


def test_a_collector_that_is_not_there_harms_nobody(crawl: Caller, made: str) -> None:
    with collecting() as collector:
        pass
    plain = crawl("readdb", made, "--stats")
    settings = [f"traces.otlp.endpoint={collector.url}", "traces.otlp.timeout=1"]
    answer = crawl("readdb", made, "--stats", *(word for one in settings for word in ("-D", one)))
    assert (answer.code, answer.out) == (0, plain.out)


@pytest.mark.spark
def test_driver_workers_and_jvm_write_json(tmp_path: Path) -> None:
    """In a process of its own: it starts a JVM, which takes its log's layout at its start."""
    (tmp_path / "seeds.txt").write_text("http://a.example/\nno url\n")
    arguments = ["inject", "mycrawl", "seeds.txt", "--log-format", "json", "--master", "local[1]"]
    done = subprocess.run(
        [sys.executable, "-m", "crawl", *arguments, "-D", "crawldb.buckets=2"],
        cwd=tmp_path,
        env={**os.environ, "CRAWL_LOG_DIR": str(tmp_path / "logs")},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["what", "URLs", "example"]
    lines = lines_of(done.stderr)
    assert {line["role"] for line in lines} == {"driver"}
    assert [line["message"] for line in lines if line["logger"] == "crawl.driver.observed"][:1] == [
        "inject begins"
    ]
    (log,) = (tmp_path / "logs").glob("*.log")
    written = [
        json.loads(line)
        for line in log.read_text(encoding="utf-8").splitlines()
        if line.startswith("{")
    ]
    workers = [line for line in written if line.get("role") == "worker"]
    assert {line["phase"] for line in workers} == {"inject"}
    assert {line["step"] for line in workers} == {"read", "merge"}
    assert {line["crawl"] for line in workers} == {"mycrawl"}
    assert any("msg" in line and "level" in line for line in written), "the JVM's own"
