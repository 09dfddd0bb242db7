"""Spans as a collector receives them: OTLP over HTTP, decoded by the protocol's own classes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from crawl.config import Config
from crawl.errors import EnvironmentFault, NothingToDo, StorageError
from crawl.telemetry import ambient
from crawl.telemetry.ambient import current_traceparent, observed_command, span
from crawl.telemetry.context import in_context
from crawl.telemetry.settings import Settings
from crawl.telemetry.tracing import Tracing, traces_url
from crawl.testing.clock import ManualClock
from tests.telemetry.collector import Collector, collecting


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as seen:
        yield seen


def config_for(collector: Collector) -> Config:
    return Config.of({"traces.otlp.endpoint": collector.url})


def test_spans_are_nested_and_say_where_they_are(collector: Collector) -> None:
    with (
        observed_command(config_for(collector), "fetch", "/data/c"),
        in_context(phase="fetch", segment="20261115093000"),
        span("fetch") as phase,
    ):
        with span("fetch: fetch"):
            pass
        phase.set(records=12)
    command, phase_seen, step = (
        collector.named(name)[0] for name in ("crawl fetch", "fetch", "fetch: fetch")
    )
    assert {command.trace, phase_seen.trace, step.trace} == {command.trace}
    assert command.parent == ""
    assert phase_seen.parent == command.id
    assert step.parent == phase_seen.id
    assert command.attributes == {"nutria.command": "fetch", "nutria.crawl": "/data/c"}
    assert phase_seen.attributes["nutria.segment"] == "20261115093000"
    assert phase_seen.attributes["nutria.records"] == 12
    assert command.resource["service.name"] == "nutria"
    assert command.resource["nutria.role"] == "driver"
    assert command.start_ns <= step.start_ns <= step.end_ns <= command.end_ns


def test_a_fault_makes_its_spans_fail_and_nothing_to_do_does_not(collector: Collector) -> None:
    with (
        pytest.raises(StorageError),
        observed_command(config_for(collector), "fetch", "c"),
        span("fetch"),
    ):
        raise StorageError("the bucket is gone")
    with (
        pytest.raises(NothingToDo),
        observed_command(config_for(collector), "parse", "c"),
        span("parse"),
    ):
        raise NothingToDo("all is parsed")
    failed = {seen.name: seen.failed for seen in collector.spans()}
    assert failed == {"crawl fetch": True, "fetch": True, "crawl parse": False, "parse": False}


def test_a_failure_tells_no_password(collector: Collector) -> None:
    login = "Basic bWU6Y29ycmVjdC1ob3JzZQ=="
    with (
        pytest.raises(StorageError),
        observed_command(config_for(collector), "index", "c"),
        span("index"),
    ):
        raise StorageError(f"http://me:geheim@a.org/ says {login}")
    assert len(collector.spans()) == 2
    told = b"".join(body for _, body in collector.posts)
    assert b"http://***@a.org/ says Basic ***" in told
    assert b"geheim" not in told and b"bWU6" not in told


def test_another_program_can_be_above_a_command(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    monkeypatch.setenv("TRACEPARENT", above)
    with observed_command(config_for(collector), "updatedb", "c"):
        pass
    (command,) = collector.spans()
    assert f"00-{command.trace}-{command.parent}-01" == above


def test_a_parent_can_be_given_to_another_thread(collector: Collector) -> None:
    with observed_command(config_for(collector), "parse", "c"), span("parse"):
        parent = current_traceparent()

        def work() -> None:
            with span("parse task", parent=parent):
                pass

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    (phase,), (task,) = collector.named("parse"), collector.named("parse task")
    assert task.parent == phase.id


def test_off_there_are_no_spans() -> None:
    with observed_command(Config.of({}), "fetch", "c"), span("fetch") as nothing:
        nothing.set(records=1)
        nothing.fail(ValueError())
        assert current_traceparent() == ""
        assert ambient.tracing() is None
        assert ambient.meter() is None


def test_a_collector_that_is_down_is_left_alone_for_a_while(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.answer = 400
    clock = ManualClock(0)
    tracing = Tracing(Settings(endpoint=collector.url, timeout_s=5), "driver", clock)
    for _ in range(3):
        with tracing.span("task", "", {}):
            pass
        tracing.flush()
    warnings = [record for record in caplog.records if "takes no spans" in record.getMessage()]
    assert len(warnings) == 1
    collector.answer = 200
    clock.advance(61)
    with tracing.span("late", "", {}):
        pass
    tracing.close()
    assert [seen.name for seen in collector.spans()] == ["late"]


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://c:4318", "http://c:4318/v1/traces"),
        ("http://c:4318/", "http://c:4318/v1/traces"),
        ("https://c/otlp/v1/traces", "https://c/otlp/v1/traces"),
    ],
)
def test_the_collectors_path_is_the_usual_one_unless_named(endpoint: str, url: str) -> None:
    assert traces_url(endpoint) == url


@pytest.mark.parametrize("wrong", ["c:4317", "grpc://c:4317", "http://"])
def test_an_endpoint_that_cannot_be_meant_is_reported(wrong: str) -> None:
    with pytest.raises(EnvironmentFault, match=r"traces\.otlp\.endpoint: expected http://"):
        traces_url(wrong)


def test_the_missing_extra_is_named_in_a_line() -> None:
    code = """
import sys
sys.modules["opentelemetry.sdk"] = None
from crawl.cli.main import main
main(["readdb", "nowhere", "--stats", "-D", "traces.otlp.endpoint=http://127.0.0.1:4318"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 2
    assert done.stderr.startswith("crawl: traces.otlp.endpoint needs opentelemetry.sdk")
    assert done.stderr.endswith(": pip install '.[traces]'\n")
    assert done.stderr.count("\n") == 1
