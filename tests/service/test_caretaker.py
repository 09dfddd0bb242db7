from __future__ import annotations

import threading

from crawl.clock import SystemClock
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.service.caretaker import Caretaker, Chore
from crawl.testing.clock import ManualClock


def test_each_chore_is_done_in_its_time() -> None:
    clock, done = ManualClock(), Counters()

    def count(name: str) -> Chore:
        return Chore(name, {"often": 1.0, "seldom": 10.0}[name], lambda: done.update([name]))

    caretaker = Caretaker([count("often"), count("seldom")], clock, Counters())
    caretaker.do_what_is_due()
    assert not done
    for _ in range(20):
        clock.advance(1)
        caretaker.do_what_is_due()
        caretaker.do_what_is_due()
    assert done == {"often": 20, "seldom": 2}


def test_a_chore_that_fails_is_counted_and_done_again() -> None:
    clock, counters, faults, done = ManualClock(), Counters(), ["no store"] * 2, Counters()

    def fail() -> None:
        if faults:
            raise StorageError(faults.pop())
        done["failing"] += 1

    chores = [Chore("failing", 1, fail), Chore("other", 1, lambda: done.update(["other"]))]
    caretaker = Caretaker(chores, clock, counters)
    for _ in range(3):
        clock.advance(1)
        caretaker.do_what_is_due()
    assert counters == {"chores_failed.failing": 2}
    assert done == {"failing": 1, "other": 3}


def test_it_ends_when_it_is_told_to() -> None:
    was_there = threading.Event()
    caretaker = Caretaker([Chore("chore", 0, was_there.set)], SystemClock(), Counters())
    thread = threading.Thread(target=caretaker.run)
    thread.start()
    assert was_there.wait(60)
    caretaker.stop()
    thread.join(60)
    assert not thread.is_alive()
