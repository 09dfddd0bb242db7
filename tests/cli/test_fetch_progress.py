"""What a running fetch shows, from what its parts have reported."""

from __future__ import annotations

import io
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from crawl.phases.fetch.progress import FetchProgress, fetch_look, progress_of
from crawl.storage.segments import Segment
from crawl.telemetry.progress import BarDisplay
from tests.cli.remarks import Remarks
from tests.cli.terminals import showing
from tests.phases.webs import listed

PART_PROGRESS: dict[str, Any] = {
    "told_ms": 10**14,  # never long ago
    "done": 30,
    "pages_per_s": 2.5,
    "kb_per_s": 100.0,
    "busy_threads": 7,
    "queues_ready": 1,
    "queues_waiting": 8,
    "longest_queue_s": 12.0,
    "errors": {"http_503": 2, "tls": 1},
}


def test_the_parts_are_added_up() -> None:
    other = PART_PROGRESS | {
        "longest_queue_s": 3.0,
        "errors": {"http_503": 1, "low_speed": 1, "proxy": 1},
    }
    progress = FetchProgress.of([PART_PROGRESS, other], 110)
    assert str(progress) == (
        "60 of 110 URLs, 5 pages/s, 200 kB/s, 14 threads busy, 2 queues ready, 16 waiting,"
        " 6 errors (http_503 3 tls 1 low_speed 1 …), 0:00:12 to go"
    )


def test_what_is_followed_is_counted_among_the_urls() -> None:
    progress = FetchProgress.of([PART_PROGRESS | {"done": 242, "followed": 9}], 239)
    assert str(progress).startswith("242 of 248 URLs, ")


@pytest.mark.parametrize(
    ("done", "pages_per_s", "longest_s", "left_s"),
    [(30, 2.0, 12.0, 35.0), (30, 2.0, 50.0, 50.0), (30, 0.0, 7.0, 7.0), (200, 2.0, 0.0, 0.0)],
)
def test_the_time_that_is_left(
    done: int, pages_per_s: float, longest_s: float, left_s: float
) -> None:
    part = PART_PROGRESS | {"done": done, "pages_per_s": pages_per_s, "longest_queue_s": longest_s}
    assert FetchProgress.of([part], 100).seconds_left == left_s


def test_what_older_tasks_do_not_report_is_zero() -> None:
    progress = FetchProgress.of([{"told_ms": 1, "done": 3}], 9)
    assert (progress.done, progress.ready, progress.errors.total()) == (3, 0, 0)


WAIT = {"host": "dead.org", "why": "robots.txt unavailable", "until_ms": 1_800_000_000_000}


def test_what_is_waited_for_comes_first_where_nobody_can_be_asked() -> None:
    idle = PART_PROGRESS | {"busy_threads": 0, "queues_ready": 0, "waits": [WAIT]}
    message = "waits for dead.org (robots.txt unavailable) until 08:00:00 UTC"
    assert FetchProgress.of([idle], 99).pace.startswith(f"{message}, 2 pages/s")
    assert FetchProgress.of([PART_PROGRESS | {"waits": [WAIT]}], 99).pace.endswith(
        f"(http_503 2 tls 1), {message}"
    )


def test_of_several_waits_the_first_to_end_is_named() -> None:
    sooner = WAIT | {"host": "busy.org", "why": "Retry-After", "until_ms": 1_799_999_999_000}
    progress = FetchProgress.of(
        [PART_PROGRESS | {"waits": [WAIT]}, PART_PROGRESS | {"waits": [sooner]}], 99
    )
    assert "waits for busy.org and 1 more (Retry-After) until 07:59:59 UTC" in str(progress)


def test_a_hosts_name_moves_no_cursor() -> None:
    assert "\x1b" not in str(
        FetchProgress.of([PART_PROGRESS | {"waits": [WAIT | {"host": "a\x1b[2J.org"}]}], 99)
    )


def test_the_pace_is_that_of_tasks_that_still_fetch() -> None:
    fresh, now = PART_PROGRESS | {"told_ms": 100_000}, 101_000
    ended = PART_PROGRESS | {"told_ms": 100_000, "ended": True, "pages_per_s": 129.0}
    silent = PART_PROGRESS | {"told_ms": 1, "pages_per_s": 129.0}
    progress = FetchProgress.of([fresh, ended, silent], 99, now)
    assert (progress.pages_per_s, progress.kb_per_s) == (2.5, 100.0)
    assert progress.done == 90


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    directory, name = listed(str(tmp_path / "c"), ["http://a.org/1", "http://b.org/2"], parts=1)
    return directory.segments.segment(name)


def write_progress(segment: Segment, raw: bytes) -> None:
    segment.folder.write("crawl_fetch/progress/part-00000.json", raw)


def test_only_what_was_reported_is_known(segment: Segment) -> None:
    assert progress_of(segment) == FetchProgress.of([], 2)
    for torn in (b"", b"{", b"[]", b"{}"):
        write_progress(segment, torn)
        assert progress_of(segment) == FetchProgress.of([], 2)
    write_progress(segment, json.dumps(PART_PROGRESS).encode())
    assert progress_of(segment) == FetchProgress.of([PART_PROGRESS], 2)


class Terminal(io.StringIO):
    """A stream that is a terminal and signals when a bar was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "pages/s" in text:
            self.drawn.set()
        return super().write(text)


def drawn(segment: Segment, columns: int, patch: pytest.MonkeyPatch) -> str:
    """What is seen on a terminal of that width."""
    patch.setattr(BarDisplay, "poll_seconds", 0.01)
    patch.setenv("COLUMNS", str(columns))
    write_progress(segment, json.dumps(PART_PROGRESS | {"done": 1}).encode())
    stream = Terminal()
    patch.setattr(sys, "stderr", stream)
    with showing("fetch", fetch_look(segment)):
        assert stream.drawn.wait(10)
    return stream.getvalue()


def test_a_bar_on_a_terminal(segment: Segment, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = drawn(segment, 200, monkeypatch)
    assert "1/2" in shown
    assert "2 pages/s, 100 kB/s, 7 threads busy" in shown
    assert "3 errors (http_503 2 tls 1)" in shown


def test_a_narrow_terminal_cuts_the_details_alone(
    segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = drawn(segment, 80, monkeypatch)
    for whole in ("fetch", "1/2", "to go", "2 pages/s", "…"):
        assert whole in shown
    assert "http_503" not in shown


def test_lines_without_a_terminal_and_nothing_where_it_is_to_be_quiet(
    segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    remarks = Remarks(monkeypatch)
    write_progress(segment, json.dumps(PART_PROGRESS).encode())
    with showing("fetch", fetch_look(segment)):
        assert remarks.come(10)
    assert remarks.messages[0].startswith("fetch: 30 of 2 URLs, 2 pages/s")
    remarks.forget()
    with showing("fetch", fetch_look(segment), quiet=True):
        assert not remarks.come(0.1)
    assert remarks.messages == []
