from __future__ import annotations

import threading
from functools import partial

import pytest

from crawl.service.segments.background import MAX_HELD_BYTES, Background

LONG_S = 60.0


def test_work_is_done_in_order_and_nobody_waits_for_it() -> None:
    may_go = threading.Event()
    done: list[object] = []
    background = Background("test")
    background.do(lambda: done.append(may_go.wait(LONG_S)))
    background.do(lambda: done.append("second"))
    assert done == []
    may_go.set()
    background.close()
    assert done == [True, "second"]


def test_who_gives_what_is_small_never_waits() -> None:
    may_go = threading.Event()
    done: list[int] = []
    background = Background("test")
    background.do(lambda: done.append(int(may_go.wait(LONG_S))))
    for number in range(2, 50):
        background.do(partial(done.append, number), MAX_HELD_BYTES // 50)
    assert done == []
    may_go.set()
    background.close()
    assert done == list(range(1, 50))


def test_what_is_large_by_itself_is_done_all_the_same() -> None:
    done: list[str] = []
    background = Background("test")
    background.do(lambda: done.append("large"), 2 * MAX_HELD_BYTES)
    background.do(lambda: done.append("after it"), 2 * MAX_HELD_BYTES)
    background.close()
    assert done == ["large", "after it"]


def test_who_gives_too_much_waits() -> None:
    may_go = threading.Event()
    given: list[int] = []
    background = Background("test")

    def wait() -> None:
        may_go.wait(LONG_S)

    def give() -> None:
        for number in range(6):
            background.do(wait, MAX_HELD_BYTES // 3)
            given.append(number)

    giver = threading.Thread(target=give)
    giver.start()
    while len(given) < 3:
        giver.join(0.01)
    giver.join(0.2)
    assert giver.is_alive(), "all was taken, whatever memory it has"
    may_go.set()
    giver.join(LONG_S)
    assert not giver.is_alive()
    background.close()


def test_what_went_wrong_is_raised_to_who_gives_the_next_and_to_who_waits() -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    background = Background("test")
    background.do(fail)
    with pytest.raises(OSError, match="disk is full"):
        background.wait()
    background.do(fail)
    with pytest.raises(OSError, match="disk is full"):
        background.close()
