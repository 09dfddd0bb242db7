from __future__ import annotations

import threading

import pytest

from crawl.telemetry.repeating import repeating


def test_it_is_done_now_and_then_and_once_more_at_the_end() -> None:
    twice, times = threading.Event(), []

    def do() -> None:
        times.append(threading.current_thread().name)
        if len(times) >= 2:
            twice.set()

    with repeating(do, 0.001, "teller"):
        assert twice.wait(60)
    assert times[0] == "teller" and times[-1] == threading.current_thread().name
    assert "teller" not in {thread.name for thread in threading.enumerate()}


def test_also_where_the_block_fails() -> None:
    times: list[int] = []
    with pytest.raises(KeyError), repeating(lambda: times.append(1), 3600.0, "teller"):
        raise KeyError
    assert times == [1]
