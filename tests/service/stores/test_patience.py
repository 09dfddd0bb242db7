from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NoReturn

import pytest

from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.service.patience import LONGEST_PAUSE_S
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.patience import PatientStore
from crawl.service.stores.store import DamagedStore, Row, Space
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS


class FaultyStore(MemoryStore):
    """Fails as often as it is told to."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.faults: list[StorageError] = []
        self.on_fault: Callable[[], None] = lambda: None

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        self._fail()
        return super().get_many(space, keys)

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        super().put_many(space, rows)
        self._fail()

    def compare_and_set(
        self,
        space: Space,
        key: bytes,
        expected: bytes | None,
        value: bytes | None,
        expires_at_ms: int | None = None,
    ) -> bool:
        is_set = super().compare_and_set(space, key, expected, value, expires_at_ms)
        self._fail()
        return is_set

    def _fail(self) -> None:
        if self.faults:
            self.on_fault()
            raise self.faults.pop(0)


class Patient:
    """A store, and what happened to it."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW_MS)
        self.counters = Counters()
        self.faulty = FaultyStore(self.clock)
        self.pauses: list[float] = []
        self.gives_up = False
        self.store = PatientStore(self.faulty, self.clock, self.counters, self._pause)

    def _pause(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        self.clock.advance(seconds)
        return self.gives_up


@pytest.fixture
def patient() -> Patient:
    return Patient()


def test_a_patient_thread_waits_until_the_store_answers(patient: Patient) -> None:
    patient.faulty.put_many(Space.PAGES, [Row(b"k", b"v", 1)])
    patient.faulty.faults = [StorageError("down")] * 9
    failing: list[float] = []
    patient.faulty.on_fault = lambda: failing.append(patient.store.failing_s)
    with patient.store.patience():
        assert patient.store.get_many(Space.PAGES, [b"k"]) == [b"v"]
    assert patient.pauses == sorted(patient.pauses) and len(patient.pauses) == 9
    assert patient.pauses[-1] == LONGEST_PAUSE_S
    assert patient.counters["store_errors.read"] == 9
    assert failing[0] == 0 and failing[-1] == pytest.approx(sum(patient.pauses[:-1]))
    assert patient.store.failing_s == 0


def test_others_are_told_at_once(patient: Patient) -> None:
    patient.faulty.faults = [StorageError("down")]
    with pytest.raises(StorageError, match="down"):
        patient.store.get_many(Space.PAGES, [b"k"])
    with patient.store.patience():
        patient.store.get_many(Space.PAGES, [b"k"])
    patient.faulty.faults = [StorageError("down again")]
    with pytest.raises(StorageError, match="down again"):  # its patience was for that block
        patient.store.put_many(Space.PAGES, [Row(b"k", b"v", 1)])
    assert not patient.pauses
    assert patient.counters == {"store_errors.read": 1, "store_errors.write": 1}


def test_a_condition_is_never_asked_for_twice(patient: Patient) -> None:
    """The first time was heard: the second would say that somebody else has set it."""
    patient.faulty.faults = [StorageError("the connection broke")]
    with patient.store.patience(), pytest.raises(StorageError, match="broke"):
        patient.store.compare_and_set(Space.LEASES, b"d", None, b"me")
    assert patient.store.get_many(Space.LEASES, [b"d"]) == [b"me"]
    assert not patient.pauses


def test_what_no_time_mends_is_not_waited_for(patient: Patient) -> None:
    patient.faulty.faults = [StorageError("down"), DamagedStore("bytes that a disk has changed")]
    with patient.store.patience(), pytest.raises(DamagedStore, match="changed"):
        patient.store.get_many(Space.PAGES, [b"k"])
    assert len(patient.pauses) == 1
    assert patient.store.failing_s == 0
    patient.store.check()


def test_at_the_end_nobody_waits(patient: Patient) -> None:
    patient.gives_up = True
    patient.faulty.faults = [StorageError("down")]
    with patient.store.patience(), pytest.raises(StorageError, match="down"):
        patient.store.get_many(Space.PAGES, [b"k"])
    assert patient.store.failing_s == 0


def test_a_thread_that_waits_goes_on_when_it_is_told_to_give_up() -> None:
    store = PatientStore(_Down(ManualClock(NOW_MS)), ManualClock(NOW_MS), Counters())
    has_ended = threading.Event()

    def ask() -> None:
        with store.patience(), pytest.raises(StorageError):
            store.get_many(Space.PAGES, [b"k"])
        has_ended.set()

    thread = threading.Thread(target=ask)
    thread.start()
    store.give_up()
    assert has_ended.wait(60)
    thread.join()


def test_while_a_thread_waits_the_store_is_not_ready(patient: Patient) -> None:
    said: list[str] = []

    def look() -> None:
        with pytest.raises(StorageError) as caught:
            patient.store.check()
        said.append(str(caught.value))

    # at the second fault the thread has waited for the first
    patient.faulty.faults = [StorageError("down"), StorageError("still down")]
    patient.faulty.on_fault = lambda: look() if patient.pauses else None
    with patient.store.patience():
        patient.store.get_many(Space.PAGES, [b"k"])
    assert said == ["down"]
    patient.store.check()


class _Down(MemoryStore):
    def get_many(self, space: Space, keys: object) -> NoReturn:
        raise StorageError("down")
