"""The sandbox against parsers that hang, die, eat memory and talk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from _pytest.monkeypatch import MonkeyPatch

from crawl.errors import EnvironmentFault
from crawl.model.content import Content
from crawl.model.contents import content_table
from crawl.parsing.document import ParsedBatch
from crawl.parsing.process import parser_process
from crawl.parsing.process import sandbox as module
from crawl.parsing.process.sandbox import Sandbox
from tests.parsing.small_parsers import content, parse_batch, plan

pytestmark = pytest.mark.slow


def pages(count: int) -> list[Content]:
    return [
        content(f"http://a.org/{number}", f"title {number}", f"links 3 http://b.org/{number}-")
        for number in range(count)
    ]


def outcome(batch: ParsedBatch) -> list[tuple[str, str]]:
    return [(row["url"].rpartition("/")[2], row["status"]) for row in batch.parse_data.to_pylist()]


def test_the_result_is_that_of_the_pipeline_alone() -> None:
    made = plan()
    given = [*pages(200), content("http://a.org/bad", "do raise value")]
    with Sandbox(made) as sandbox:
        found = sandbox.parse(given)
        assert sandbox.parse([]).parse_data.num_rows == 0
    expected = parse_batch(made, given)
    assert found.parse_data.equals(expected.parse_data)
    assert found.parse_text.equals(expected.parse_text)
    assert found.counters == expected.counters
    assert sorted(map(str, found.crawl_parse.to_pylist())) == sorted(
        map(str, expected.crawl_parse.to_pylist())
    )


@pytest.mark.parametrize(
    ("instruction", "status", "message"),
    [
        ("do die segfault", "failed_crashed", "SIGSEGV"),
        ("do die SIGABRT", "failed_crashed", "SIGABRT"),
        ("do die exit", "failed_crashed", "exit code 3"),
        ("do die SIGKILL", "failed_memory", "short of memory"),
        ("do raise memory", "failed_memory", "more memory than it may have"),
        ("do eat 5000", "failed_memory", "more memory than it may have"),
        ("do raise exit", "failed_exception", "SystemExit"),
        ("do recurse x", "failed_exception", "RecursionError"),
        ("do print hello", "success", ""),
        ("do fork on", "success", ""),
        ("do fork die", "failed_crashed", "exit code 3"),
    ],
)
def test_a_wicked_page_costs_itself_alone(instruction: str, status: str, message: str) -> None:
    good = pages(9)
    given = [*good[:4], content("http://a.org/bad", instruction), *good[4:]]
    with Sandbox(plan(parser__memory__limit="500MiB")) as sandbox:
        batch = sandbox.parse(given)
        again = sandbox.parse(good)
    expected = [(str(number), "success") for number in range(9)]
    expected.insert(4, ("bad", status))
    assert outcome(batch) == expected
    assert message in batch.parse_data["message"][4].as_py()
    assert batch.counters["pages"] == 10
    assert outcome(again) == [(str(number), "success") for number in range(9)]


def test_a_page_that_hangs_is_stopped_by_the_alarm() -> None:
    with Sandbox(plan(parser__timeout="2s")) as sandbox:
        batch = sandbox.parse([*pages(2), content("http://a.org/bad", "do hang x")])
    assert outcome(batch)[-1] == ("bad", "failed_timeout")
    assert batch.counters["parse.success"] == 2


def test_how_far_it_is_is_told_while_a_batch_is_under_way(monkeypatch: MonkeyPatch) -> None:
    """The third page hangs for two seconds, and is looked at meanwhile."""
    monkeypatch.setattr(parser_process, "_LOOK_EVERY_S", 0.05)
    given = content_table([*pages(2), content("http://a.org/bad", "do hang x"), *pages(1)])
    counted: list[int] = []
    with Sandbox(plan(parser__timeout="2s")) as sandbox:
        (batch,) = sandbox.parse_batches(given, counted.append, before=10)
    assert batch.counters["pages"] == 4
    assert 12 in counted
    assert counted[-1] == 14


def test_a_page_that_switches_the_alarm_off_is_stopped_too(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(parser_process, "_GRACE_S", 0.1)
    monkeypatch.setattr(parser_process, "_LOOK_EVERY_S", 0.1)
    with Sandbox(plan(parser__timeout="2s")) as sandbox:
        batch = sandbox.parse([content("http://a.org/bad", "do hang deaf"), *pages(2)])
    assert outcome(batch) == [("bad", "failed_timeout"), ("0", "success"), ("1", "success")]


def test_many_wicked_pages_in_one_batch() -> None:
    given = pages(8)
    for place in (0, 3, 4, 7):
        given[place] = content(f"http://a.org/{place}", "do die exit")
    with Sandbox(plan()) as sandbox:
        batch = sandbox.parse(given)
    assert [status == "success" for _, status in outcome(batch)] == [
        *(False, True, True, False, False, True, True, False)
    ]
    assert batch.counters["pages"] == 8
    assert batch.counters["parser_restarts"] == 4


def test_a_fault_without_a_named_page_is_found_by_halves() -> None:
    chain = ["tests.parsing.process.test_sandbox:DeadlyNormalizer"]
    given = [*pages(5), content("http://a.org/bad", "link http://deadly.org/")]
    with Sandbox(plan(urlnormalizer__order__outlink=chain)) as sandbox:
        batch = sandbox.parse(given)
    assert outcome(batch)[-1] == ("bad", "failed_crashed")
    assert batch.counters["parse.success"] == 5


class DeadlyNormalizer:
    """Dies of one URL."""

    def __init__(self, config: object) -> None:
        pass

    def normalize(self, url: str, scope: object) -> str:
        if "deadly" in url:
            os._exit(4)
        return url

    def leaves_alone(self, urls: object, scope: object) -> None:
        return None


def test_pages_are_sent_in_batches_of_some_bytes(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH_BYTES", 1000)
    large = [content(f"http://a.org/{number}", "text " + "x" * 600) for number in range(4)]
    with Sandbox(plan()) as sandbox:
        batch = sandbox.parse([*large, *pages(20)])
    assert batch.counters["parse.success"] == 24
    assert batch.parse_text.num_rows == 24


def test_a_child_that_cannot_start_is_one_line(monkeypatch: MonkeyPatch) -> None:
    parser_process.end_idle()
    monkeypatch.setattr(parser_process, "_START", "raise ValueError('no way')")
    with (
        Sandbox(plan()) as sandbox,
        pytest.raises(EnvironmentFault, match="cannot be started: ValueError: no way"),
    ):
        sandbox.parse(pages(1))


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    """The parent is killed while the child hangs in a page: the alarm ends it."""
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import threading, time
            from crawl.parsing.process.sandbox import Sandbox
            from tests.parsing.small_parsers import content, plan
            sandbox = Sandbox(plan(parser__timeout="3s"))
            sandbox.parse([content("http://a.org/", "text x")])
            print(sandbox._child._process.pid, flush=True)
            sandbox.parse([content("http://a.org/", "do hang x")])
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, env=environment, cwd=Path.cwd()
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert _ends(child)


def _ends(process: int) -> bool:
    """Whether the process is gone before long; a zombie is."""
    import time

    for _ in range(600):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.05)
    return False


def _process(sandbox: Sandbox) -> int:
    sandbox.parse(pages(1))
    child = sandbox._child
    assert child is not None
    return child._process.pid


def test_a_child_waits_for_the_next_task_of_the_same_plan() -> None:
    made, other = plan(), plan(db__max__outlinks__per__page=1)
    with Sandbox(made) as sandbox:
        first = _process(sandbox)
    with Sandbox(made) as sandbox, Sandbox(made) as beside:
        assert _process(sandbox) == first
        assert _process(beside) != first
    with Sandbox(other) as sandbox:
        assert _process(sandbox) != first
    assert _ends(first)


def test_closing_twice_and_parsing_after_it() -> None:
    sandbox = Sandbox(plan())
    assert sandbox.parse(pages(1)).parse_data.num_rows == 1
    sandbox.close()
    sandbox.close()
    assert sandbox.parse(pages(2)).parse_data.num_rows == 2
    sandbox.close()


def test_a_child_that_died_while_it_waited_costs_no_page() -> None:
    with Sandbox(plan()) as sandbox:
        os.kill(_process(sandbox), signal.SIGKILL)
        batch = sandbox.parse(pages(1))
        assert outcome(batch) == [("0", "success")]
        waiting = _process(sandbox)
    os.kill(waiting, signal.SIGKILL)
    with Sandbox(plan()) as sandbox:
        assert outcome(sandbox.parse(pages(1))) == [("0", "success")]


def test_a_child_is_started_before_there_are_pages() -> None:
    parser_process.end_idle()
    with Sandbox(plan()) as sandbox:
        sandbox.start()
        child = sandbox._child
        assert child is not None
        assert _process(sandbox) == child._process.pid
    with Sandbox(plan(db__max__outlinks__per__page=2)) as sandbox:
        sandbox.start()
    with Sandbox(plan(db__max__outlinks__per__page=2)) as sandbox:
        assert outcome(sandbox.parse(pages(1))) == [("0", "success")]


def test_a_child_that_died_before_its_first_page_costs_no_page() -> None:
    parser_process.end_idle()
    with Sandbox(plan()) as sandbox:
        sandbox.start()
        assert sandbox._child is not None
        os.kill(sandbox._child._process.pid, signal.SIGKILL)
        assert _ends(sandbox._child._process.pid)
        batch = sandbox.parse(pages(1))
    assert outcome(batch) == [("0", "success")]
    assert "parser_restarts" not in batch.counters


def test_a_child_that_owes_an_answer_is_not_left_to_others() -> None:
    sandbox = Sandbox(plan())
    child = _process(sandbox)
    sandbox._awaits_reply = True  # as after an interruption
    sandbox.close()
    assert _ends(child)
