from __future__ import annotations

import threading

import pytest

from crawl.errors import StorageError
from crawl.tables.runner import InProcess


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_tasks(threads: int) -> None:
    assert InProcess(threads).run(lambda n: n * n, [3, 1, 2], "square") == [9, 1, 4]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_fault_of_a_task_is_raised(threads: int) -> None:
    def fail_on_two(n: int) -> int:
        if n == 2:
            raise StorageError("no such bucket: 2")
        return n

    with pytest.raises(StorageError, match=r"^no such bucket: 2$"):
        InProcess(threads).run(fail_on_two, [1, 2, 3], "read")


def test_threads_work_at_the_same_time() -> None:
    both_here = threading.Barrier(2, timeout=10)
    arrivals = InProcess(2).run(lambda _: both_here.wait(), [0, 1], "meet")
    assert sorted(arrivals) == [0, 1]


def test_no_tasks_is_no_work() -> None:
    assert InProcess(4).run(lambda n: n, [], "nothing") == []
