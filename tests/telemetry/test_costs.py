"""The account of a phase: what comes home to it, from this process and from others."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import StorageError
from crawl.model.costs import EngineCosts
from crawl.storage.folder import Folder
from crawl.tables.runner import InProcess
from crawl.telemetry.ambient import observed_command
from crawl.telemetry.costs import cost_account, current_account
from crawl.telemetry.io_counts import count_io, process_io
from crawl.telemetry.task import observe_tasks


def write_and_read(task: tuple[str, int]) -> int:
    address, size = task
    folder = Folder(address)
    folder.write(f"f{size}", b"x" * size)
    return len(folder.read(f"f{size}") or b"")


def test_an_account_is_added_to_the_one_around_it() -> None:
    assert current_account() is None
    with cost_account() as phase:
        phase.add(EngineCosts(jobs=1))
        count_io(read=5)
        with cost_account() as step:
            assert current_account() is step
            step.add(EngineCosts(jobs=2, bytes_exchanged=9))
            count_io(read=7, written=3)
        assert current_account() is phase
        assert phase.total == EngineCosts(
            jobs=3, bytes_exchanged=9, bytes_read=12, bytes_written=3, requests=2
        )
        assert step.total.bytes_read == 7
    assert current_account() is None


def test_a_step_that_fails_has_cost_something_too() -> None:
    with cost_account() as phase:
        with pytest.raises(StorageError), cost_account():
            count_io(written=4)
            raise StorageError("full")
        assert phase.total.bytes_written == 4


def test_another_thread_counts_for_the_process() -> None:
    before = process_io()
    with cost_account() as phase:
        thread = threading.Thread(target=lambda: count_io(read=11))
        thread.start()
        thread.join()
    assert phase.total.bytes_read == 0
    assert (process_io() - before).bytes_read == 11


@pytest.mark.parametrize("threads", [1, 3])
def test_tasks_in_this_process_count_for_the_phase(tmp_path: Path, threads: int) -> None:
    tasks = [(str(tmp_path), size) for size in (10, 200, 3000)]
    with cost_account() as phase:
        assert InProcess(threads).run(write_and_read, tasks, "test: write") == [10, 200, 3000]
    total = phase.total
    assert (total.bytes_read, total.bytes_written, total.requests) == (3210, 3210, 6)
    assert (total.jobs, total.driver_bytes) == (0, 0)


@pytest.mark.parametrize("settings", [{}, {"metrics.textfile": "METRICS"}])
def test_tasks_elsewhere_bring_home_what_they_read(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    settings = {name: str(tmp_path / "node") for name in settings}
    with observed_command(Config.of(settings), "parse", "c"), cost_account() as phase:
        work: Any = observe_tasks(write_and_read, "test: write", away=True)
        function = pickle.loads(pickle.dumps(work.function))
        done: list[Any] = []

        def worker() -> None:  # a thread that works for no phase, as in a process of its own
            done.extend(pickle.dumps(function((str(tmp_path), size))) for size in (10, 200))

        thread = threading.Thread(target=worker)
        thread.start()
        thread.join()
        assert phase.total.bytes_read == 0
        assert work.results([pickle.loads(each) for each in done]) == [10, 200]
        assert phase.total.bytes_read == phase.total.bytes_written == 210


def test_without_an_account_nothing_is_wrapped() -> None:
    work: Any = observe_tasks(write_and_read, "test: write", away=True)
    assert work.function is write_and_read
