"""What a running parse shows, by the marks of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.parse.progress import ParseProgress, parse_look, progress_of
from crawl.phases.parse.run import PROGRESS, pages_done
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.lock import hold_lock
from crawl.storage.segments import Segment
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.cli.calling import Caller
from tests.cli.remarks import Remarks
from tests.cli.terminals import showing
from tests.parsing.small_parsers import content, settings
from tests.phases.fetched import NAME, fetched_segment
from tests.phases.made import datum, make_crawldb

Task = TypeVar("Task")
Result = TypeVar("Result")


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    """A segment of five pages in two files, each a task of its own."""
    pages = [content(f"http://h{number}.org/", f"text {number}") for number in range(5)]
    directory = CrawlDir(str(tmp_path / "c"))
    fetched_segment(directory, [pages[:3], pages[3:]])
    return directory


@pytest.fixture
def segment(directory: CrawlDir) -> Segment:
    return directory.segments.segment(NAME)


class Watching(InProcess):
    """A Runner that notes the progress after every task."""

    def __init__(self, segment: Segment) -> None:
        super().__init__()
        self._segment = segment
        self.seen: list[str] = []

    def run(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], step: str
    ) -> list[Result]:
        results = []
        for task in tasks:
            results.append(function(task))
            function(task)  # as of a task whose first attempt was lost
            self.seen.append(str(progress_of(self._segment)))
        return results


def test_pages_are_counted_as_the_tasks_end(
    directory: CrawlDir, segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse, "_TASK_BYTES", 1)
    segment.folder.write(f"{PROGRESS}/00007-1000", b"")  # of a parse that died
    runner = Watching(segment)
    config = Config.of(settings())
    parse.run(runner, directory, config, ParseOptions(NAME), SystemClock())
    assert runner.seen in (
        ["3 of 5 pages", "5 of 5 pages"],
        ["2 of 5 pages", "5 of 5 pages"],
    )
    assert not segment.folder.exists(PROGRESS)


def test_its_message() -> None:
    assert str(ParseProgress(1500, 4000, 250.0)) == (
        "1,500 of 4,000 pages, 250 pages/s, 0:00:10 to go"
    )
    assert ParseProgress(0, 4000, 0.0).remaining == ""


def test_lines_from_the_start(segment: Segment, monkeypatch: pytest.MonkeyPatch) -> None:
    remarks = Remarks(monkeypatch)
    clock = ManualClock(0)
    with showing("parse", parse_look(segment, clock)):
        assert remarks.come(10)
        clock.advance(2)
        segment.folder.write(f"{PROGRESS}/00000-4", b"")
        remarks.until("4 of 5 pages", 10)
    assert "parse: 4 of 5 pages, 2 pages/s, 0:00:00 to go" in remarks.messages


def test_nothing_is_done_at_the_start(segment: Segment, monkeypatch: pytest.MonkeyPatch) -> None:
    remarks = Remarks(monkeypatch)
    with showing("parse", parse_look(segment, ManualClock(0))):
        assert remarks.come(10)
    assert remarks.messages[0] == "parse: 0 of 5 pages"


def test_a_long_task_reports_how_far_it_is(
    directory: CrawlDir, segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both files are one task, and are reported one by one."""
    monkeypatch.setattr(parse, "_MARK_EVERY_S", 0.0)
    seen: list[str] = []
    write = Folder.write

    def spied(folder: Folder, name: str, content: bytes) -> None:
        write(folder, name, content)
        if name.startswith(PROGRESS):
            seen.append(str(progress_of(segment)))
            assert pages_done(segment) <= 5

    monkeypatch.setattr(Folder, "write", spied)
    parse.run(InProcess(), directory, Config.of(settings()), ParseOptions(NAME), SystemClock())
    assert seen == ["3 of 5 pages", "5 of 5 pages"]


def test_another_shell_can_ask(crawl: Caller, directory: CrawlDir, segment: Segment) -> None:
    make_crawldb(directory.address, {"http://h0.org/": datum()})
    segment.folder.write(f"{PROGRESS}/00000-4", b"")
    with hold_lock(segment.folder, "parse", SystemClock(), stale_after_ms=1e9, heartbeat_s=60):
        (row,) = crawl("status", directory.address, "--json").json
    assert row["state"].startswith("parse on ")
    assert row["progress"] == "4 of 5 pages"
