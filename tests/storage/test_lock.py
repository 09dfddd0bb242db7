from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict

import pytest

from crawl.errors import Locked
from crawl.storage import lock as lock_module
from crawl.storage.folder import Folder
from crawl.storage.lock import (
    CHANGE_NAME,
    LOCK_NAME,
    Lock,
    hold_file,
    require_free,
)
from crawl.testing.clock import ManualClock
from tests.storage.locks import NOW, STALE_MS, plant, stranger, take


def test_a_look_refuses_what_a_taking_would_and_takes_nothing(
    place: Folder, clock: ManualClock
) -> None:
    def look(**more: bool) -> None:
        require_free(place, clock, stale_after_ms=STALE_MS, **more)

    look()
    plant(place, stranger())
    with pytest.raises(Locked) as looked:
        look()
    with pytest.raises(Locked) as taken:
        take(place, clock)
    assert str(looked.value) == str(taken.value)
    look(steal_lock=True)
    plant(place, stranger(seen_ms=NOW - STALE_MS - 1))
    look()
    assert place.exists(LOCK_NAME)


def test_a_process_of_another_container_is_not_judged_by_its_number(
    place: Folder, clock: ManualClock
) -> None:
    plant(place, stranger(host=platform.node(), namespace="pid:[1]", pid=2**22 - 1))
    with pytest.raises(Locked, match="is locked: updatedb by ada"):
        take(place, clock)


def test_one_holds_it_and_the_next_learns_who(place: Folder, clock: ManualClock) -> None:
    lock = take(place, clock)
    assert lock.took_over is None
    clock.advance(125)
    with pytest.raises(Locked) as raised:
        take(place, clock)
    line = str(raised.value)
    assert f"inject by {lock.owner.user} on {platform.node()} (process {os.getpid()})" in line
    assert "2 min ago" in line
    assert "--steal-lock" in line
    assert "\n" not in line
    assert raised.value.exit_code == 3
    lock.release()
    assert take(place, clock).took_over is None


def test_release_leaves_nothing_behind(place: Folder, clock: ManualClock) -> None:
    take(place, clock).release()
    assert place.files() == {}


def test_a_living_owner_on_another_host_is_respected(place: Folder, clock: ManualClock) -> None:
    plant(place, stranger())
    with pytest.raises(Locked, match="updatedb by ada on elsewhere .*2 h ago"):
        take(place, clock)
    plant(place, stranger(seen_ms=NOW - STALE_MS))
    with pytest.raises(Locked):
        take(place, clock)


def test_an_owner_on_another_host_that_is_silent_for_long_is_replaced(
    place: Folder, clock: ManualClock
) -> None:
    plant(place, stranger(seen_ms=NOW - STALE_MS - 1))
    lock = take(place, clock)
    assert lock.took_over is not None
    assert "ada on elsewhere" in lock.took_over
    assert "no sign of life for 15 min" in lock.took_over
    lock.verify()


def test_a_number_given_to_another_process_is_no_life(place: Folder, clock: ManualClock) -> None:
    """Our own number, but started at another time: the owner is dead."""
    plant(place, stranger(host=platform.node(), pid=os.getpid(), process_started="1"))
    lock = take(place, clock)
    assert lock.took_over is not None
    assert "no longer runs on this machine" in lock.took_over


@pytest.mark.parametrize("share", [0, 1, 40, -1])
def test_a_torn_lock_is_removed(
    place: Folder, clock: ManualClock, no_pause: None, share: int
) -> None:
    place.write(LOCK_NAME, json.dumps(asdict(stranger())).encode()[:share])
    lock = take(place, clock)
    assert lock.took_over == "removed a lock that its owner never finished writing"


def test_a_lock_being_written_is_looked_at_again(
    place: Folder, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write(LOCK_NAME, b"{")

    class Meanwhile:
        def wait(self, seconds: float) -> None:
            plant(place, stranger())

    monkeypatch.setattr(lock_module, "_pause", Meanwhile())
    with pytest.raises(Locked, match="ada on elsewhere"):
        take(place, clock)


@pytest.mark.parametrize("foreign", [b"[]", b"3", b'{"user": "x"}', b"\xff"])
def test_a_file_that_is_no_lock_is_removed(
    place: Folder, clock: ManualClock, no_pause: None, foreign: bytes
) -> None:
    place.write(LOCK_NAME, foreign)
    assert take(place, clock).took_over


def test_force_takes_it_and_the_former_owner_finds_out(place: Folder, clock: ManualClock) -> None:
    first = take(place, clock)
    second = take(place, clock, steal_lock=True)
    assert second.took_over is not None
    assert second.took_over.endswith(": stolen")
    with pytest.raises(Locked, match="taken away .* now held by inject .*nothing was published"):
        first.verify()
    with pytest.raises(Locked):
        first.show_life()
    first.release()
    second.verify()


def test_a_lock_deleted_by_hand_is_found_out(place: Folder, clock: ManualClock) -> None:
    lock = take(place, clock)
    place.delete(LOCK_NAME)
    with pytest.raises(Locked, match="held by nobody"):
        lock.verify()


def test_a_released_lock_is_not_mistaken_for_a_torn_one(
    place: Folder, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Released between our attempt and our look, and taken by a third before our next
    step: the third keeps it."""
    ours = take(place, clock)
    plain_read = Folder.read

    def read(folder: Folder, name: str) -> bytes | None:
        monkeypatch.setattr(Folder, "read", plain_read)
        ours.release()
        found = plain_read(folder, name)
        plant(place, stranger())
        return found

    monkeypatch.setattr(Folder, "read", read)
    with pytest.raises(Locked, match="ada on elsewhere"):
        take(place, clock)


def test_of_two_who_meet_a_dead_lock_the_slower_spares_the_quickers(
    place: Folder, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slower one has seen the dead lock; before it removes it, the quicker is done."""
    plant(place, stranger(seen_ms=0))
    plain_create = Folder.create
    quicker: list[Lock] = []

    def create(folder: Folder, name: str, data: bytes) -> bool:
        if name == CHANGE_NAME and not quicker:
            monkeypatch.setattr(Folder, "create", plain_create)
            quicker.append(take(place, clock))
        return plain_create(folder, name, data)

    monkeypatch.setattr(Folder, "create", create)
    with pytest.raises(Locked):
        take(place, clock)
    quicker[0].verify()
    assert place.read(CHANGE_NAME) is None


def test_a_removal_under_way_is_respected(
    place: Folder, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "_CHANGE_PAUSE_S", 0.001)
    plant(place, stranger(seen_ms=0))
    plant(place, stranger(), CHANGE_NAME)
    with pytest.raises(Locked, match="somebody else was quicker"):
        take(place, clock)


def test_a_removal_that_died_half_way_is_mended(place: Folder, clock: ManualClock) -> None:
    plant(place, stranger(seen_ms=0))
    plant(place, stranger(seen_ms=0), CHANGE_NAME)
    lock = take(place, clock)
    lock.verify()
    lock.release()
    assert place.files() == {}


def test_nor_is_it_left_behind_where_the_dead_lock_was_removed_before(
    place: Folder, clock: ManualClock
) -> None:
    plant(place, stranger(seen_ms=0), CHANGE_NAME)
    take(place, clock).release()
    assert place.files() == {}
    plant(place, stranger(), CHANGE_NAME)  # of somebody who is at it
    take(place, clock).release()
    assert list(place.files()) == [CHANGE_NAME]


def test_a_single_file_is_waited_for_and_not_for_ever(
    place: Folder, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "_FILE_WAITS", 2)
    monkeypatch.setattr(lock_module, "_FILE_PAUSE_S", 0.001)
    plant(place, stranger(), "rules.txt.LOCK")
    with (
        pytest.raises(Locked, match=r"rules\.txt\.LOCK is still held: updatedb by ada"),
        hold_file(place, "rules.txt", "crawl dust", clock),
    ):
        pass
    take(place, clock)  # that of the folder is another
    plant(place, stranger(seen_ms=0), "rules.txt.LOCK")
    with hold_file(place, "rules.txt", "crawl dust", clock) as held:
        assert held.took_over is not None
        held.verify()
    assert list(place.files()) == [LOCK_NAME]
