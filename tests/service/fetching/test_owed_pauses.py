from __future__ import annotations

from pathlib import Path

import pytest

from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.service.fetching.owed_pauses import OwedPauses
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Row, Space
from crawl.testing.clock import ManualClock

POLITENESS = Politeness(ServerPace(5.0), ip_delay_s=2.0)


class Machine:
    """On which one service comes after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock(1_800_000_000_000)
        self.store = MemoryStore(self.clock)
        self.writes = 0
        put_many = self.store.put_many

        def counted(space: Space, rows: list[Row]) -> None:
            self.writes += 1
            put_many(space, rows)

        self.store.put_many = counted  # type: ignore[assignment, method-assign]

    def service(self) -> tuple[OwedPauses, dict[str, ServerState]]:
        pauses = OwedPauses(self.store, self.folder, POLITENESS, self.clock)
        return pauses, {state.key: state for state in pauses.begin()}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_first_service_owes_nothing(machine: Machine) -> None:
    pauses, states = machine.service()
    assert states == {} and pauses.take("a.org") is None


def test_what_is_left_of_every_pause_is_owed_after_a_good_end(machine: Machine) -> None:
    pauses, _ = machine.service()
    pauses.end([ServerState("a.org", 4.0), ServerState("b.org", 600.0, 2, wait_reason="429")])
    machine.clock.advance(3)
    pauses, states = machine.service()
    assert not pauses.was_killed
    assert states["a.org"].pause_s == 1.0
    assert (states["b.org"].pause_s, states["b.org"].wait_reason) == (597.0, "429")
    assert pauses.take("c.org") is None


def test_after_a_death_every_server_is_owed_a_pause(machine: Machine) -> None:
    machine.service()
    machine.clock.advance(100)
    pauses, _ = machine.service()
    assert pauses.was_killed
    known = pauses.take("a.org")
    assert known is not None and known.ready_at == machine.clock.monotonic() + 5
    address = pauses.take("@10.0.0.1")
    assert address is not None and address.ready_at == machine.clock.monotonic() + 2
    machine.clock.advance(5)
    assert pauses.take("a.org") is None, "nothing is remembered of servers that are owed nothing"


def test_after_a_death_a_long_pause_is_what_is_left_of_it(machine: Machine) -> None:
    pauses, _ = machine.service()
    pauses.keep_one("a.org", 600.0)
    pauses.keep([ServerState("slow.org", 1.0, min_delay_s=20.0), ServerState("usual.org", 5.0)])
    machine.clock.advance(500)
    _, states = machine.service()
    assert states["a.org"].pause_s == 100.0
    assert states["slow.org"].pause_s == states["slow.org"].min_delay_s == 20.0
    assert "usual.org" not in states


def test_what_is_known_is_not_written_again(machine: Machine) -> None:
    pauses, _ = machine.service()
    for _ in range(3):
        pauses.keep([ServerState("a.org", 600.0, 3)])
        pauses.keep_one("a.org", 600.0)
        pauses.keep_one("usual.org", 5.0)
    assert machine.writes == 1
    machine.clock.advance(1)
    pauses.keep_one("a.org", 600.0)
    assert machine.writes == 2
    _, states = machine.service()
    assert (states["a.org"].pause_s, states["a.org"].exceptions) == (600.0, 3)


def test_a_row_that_cannot_be_read_costs_one_pause(machine: Machine) -> None:
    pauses, _ = machine.service()
    pauses.keep_one("a.org", 600.0)
    machine.store.put_many(Space.STATE, [Row(b"pause/b.org", b"\xc1", 0)])
    _, states = machine.service()
    assert list(states) == ["a.org"]


def test_pauses_that_are_over_are_gone(machine: Machine) -> None:
    pauses, _ = machine.service()
    pauses.keep_one("a.org", 600.0)
    pauses.end([])
    machine.clock.advance(601)
    _, states = machine.service()
    assert states == {}
