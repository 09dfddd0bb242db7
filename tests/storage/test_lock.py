from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from crawl.errors import Locked
from crawl.storage.folder import Folder
from crawl.storage.lock import (
    CHANGE_NAME,
    LOCK_NAME,
    Lock,
    Owner,
    acquire,
    held,
    namespace,
    require_free,
)
from crawl.testing.clock import ManualClock
from tests.storage.conftest import Lives

NOW = 1_800_000_000_000
STALE_MS = 15 * 60_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


def take(folder: Folder, clock: ManualClock, *, force: bool = False) -> Lock:
    return acquire(folder, "inject", clock, stale_after_ms=STALE_MS, force=force)


def stranger(**changes: object) -> Owner:
    """A living owner on another machine."""
    owner = Owner(
        user="ada",
        host="elsewhere",
        namespace=namespace(),
        pid=17,
        process_started="4711",
        command="updatedb",
        token="t0ken",
        taken_ms=NOW - 7_200_000,
        seen_ms=NOW - 1000,
    )
    return replace(owner, **changes)  # type: ignore[arg-type]


def plant(folder: Folder, owner: Owner, name: str = LOCK_NAME) -> None:
    folder.write(name, json.dumps(asdict(owner)).encode())


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
    look(force=True)
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
    with pytest.raises(Locked) as told:
        take(place, clock)
    line = str(told.value)
    assert f"inject by {lock.owner.user} on {platform.node()} (process {os.getpid()})" in line
    assert "2 min ago" in line
    assert "--force" in line
    assert "\n" not in line
    assert told.value.exit_code == 3
    lock.release()
    assert take(place, clock).took_over is None


def test_release_leaves_nothing_behind(place: Folder, clock: ManualClock) -> None:
    take(place, clock).release()
    assert place.files() == {}


def test_a_living_owner_elsewhere_is_respected(place: Folder, clock: ManualClock) -> None:
    plant(place, stranger())
    with pytest.raises(Locked, match="updatedb by ada on elsewhere .*2 h ago"):
        take(place, clock)
    plant(place, stranger(seen_ms=NOW - STALE_MS))
    with pytest.raises(Locked):
        take(place, clock)


def test_an_owner_elsewhere_that_is_silent_for_long_is_replaced(
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


def test_a_lock_being_written_is_looked_at_again(place: Folder, clock: ManualClock) -> None:
    place.write(LOCK_NAME, b"{")
    writer = threading.Timer(0.15, plant, (place, stranger()))
    writer.start()
    with pytest.raises(Locked, match="ada on elsewhere"):
        take(place, clock)
    writer.join()


@pytest.mark.parametrize("foreign", [b"[]", b"3", b'{"user": "x"}', b"\xff"])
def test_a_file_that_is_no_lock_is_removed(
    place: Folder, clock: ManualClock, no_pause: None, foreign: bytes
) -> None:
    place.write(LOCK_NAME, foreign)
    assert take(place, clock).took_over


def test_force_takes_it_and_the_former_owner_finds_out(place: Folder, clock: ManualClock) -> None:
    first = take(place, clock)
    second = take(place, clock, force=True)
    assert second.took_over is not None
    assert second.took_over.endswith(": forced")
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


def test_a_removal_under_way_is_respected(place: Folder, clock: ManualClock) -> None:
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


def test_signs_of_life(place: Folder, clock: ManualClock) -> None:
    lock = take(place, clock)
    clock.advance(60)
    lock.show_life()
    stored = json.loads(place.read(LOCK_NAME) or b"")
    assert stored["seen_ms"] == NOW + 60_000
    assert stored["taken_ms"] == NOW
    lock.verify()


def test_the_heart_beats_while_held_and_stops_after(place: Folder, clock: ManualClock) -> None:
    beats = threading.Event()

    class Counting(ManualClock):
        calls = 0

        def now_ms(self) -> int:
            self.calls += 1
            if self.calls > 3:
                beats.set()
            return super().now_ms()

    counting = Counting(NOW)
    with held(place, "inject", counting, stale_after_ms=STALE_MS, heartbeat_s=0.001) as lock:
        assert beats.wait(30)
        lock.verify()
    assert place.read(LOCK_NAME) is None
    names = {thread.name for thread in threading.enumerate()}
    assert "lock-heartbeat" not in names


def test_held_releases_after_a_fault(place: Folder, clock: ManualClock) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        held(place, "inject", clock, stale_after_ms=STALE_MS, heartbeat_s=3600),
    ):
        raise ZeroDivisionError
    assert place.files() == {}


def test_the_heart_of_a_robbed_owner_stops_and_leaves_the_thief_alone(
    place: Folder, clock: ManualClock
) -> None:
    with held(place, "inject", clock, stale_after_ms=STALE_MS, heartbeat_s=0.001):
        thief = take(place, clock, force=True)
        for thread in threading.enumerate():
            if thread.name == "lock-heartbeat":
                thread.join(30)
                assert not thread.is_alive()
        thief.verify()
    thief.verify()


def test_a_dead_process_of_this_machine_is_replaced(
    place: Folder, clock: ManualClock, lives: Lives
) -> None:
    take(place, clock)
    lives.end()
    lock = take(place, clock)
    assert lock.took_over is not None
    assert "no longer runs on this machine" in lock.took_over


HOLDER = """
import sys, time
from crawl.clock import SystemClock
from crawl.storage.folder import Folder
from crawl.storage.lock import held
with held(Folder(sys.argv[1]), "inject", SystemClock(), stale_after_ms=1e9, heartbeat_s=0.01):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_killed_process_is_replaced_and_a_living_one_is_not(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Locked, match=f"process {holder.pid}"):
            take(folder, ManualClock(NOW))
        holder.send_signal(signal.SIGKILL)
        # not waited for yet: it is a zombie, which holds nothing either
        os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
        lock = take(folder, ManualClock(NOW))
        assert lock.took_over
        lock.release()
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout:
            holder.stdout.close()


RACER = """
import json, os, sys
from crawl.clock import SystemClock
from crawl.errors import Locked
from crawl.storage.folder import Folder
from crawl.storage.lock import LOCK_NAME, acquire
folder, clock, wanted = Folder(sys.argv[1]), SystemClock(), int(sys.argv[2])
inside = os.path.join(sys.argv[1], "inside")
print("ready", flush=True)
sys.stdin.readline()
won = robbed = collisions = 0
while won < wanted:
    try:
        lock = acquire(folder, "race", clock, stale_after_ms=1e9)
    except Locked as error:
        robbed += "taken away" in str(error)
        continue
    won += 1
    try:
        os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        os.unlink(inside)
        lock.verify()
    except (FileExistsError, Locked):
        collisions += 1
    if won % 3 == 0:  # as if it died: the lock stays, its owner does not
        owner = json.loads(folder.read(LOCK_NAME))
        folder.write(LOCK_NAME, json.dumps({**owner, "process_started": "0"}).encode())
    else:
        lock.release()
print(won, robbed, collisions)
"""


def test_processes_that_race_hold_it_one_at_a_time(tmp_path: Path) -> None:
    """Some release the lock, some leave it behind dead: never are two inside."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path), "15"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        results = [racer.communicate(timeout=60)[0].split() for racer in racers]
    finally:
        for racer in racers:
            racer.kill()
            racer.wait()
    assert results == [["15", "0", "0"]] * 5


@pytest.mark.parametrize(
    ("place", "turns"),
    [("file", 10), ("memory", 10), pytest.param("s3", 3, marks=pytest.mark.cluster)],
    indirect=["place"],
)
def test_threads_that_race_hold_it_one_at_a_time(
    place: Folder, clock: ManualClock, turns: int
) -> None:
    inside = threading.Lock()
    collisions: list[str] = []
    won: list[int] = []

    def run() -> None:
        mine = 0
        while mine < turns:
            try:
                lock = take(place, clock)
            except Locked:
                continue
            mine += 1
            alone = inside.acquire(blocking=False)
            lock.verify()
            if alone:
                inside.release()
            else:
                collisions.append("two inside")
            lock.release()
        won.append(mine)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [turns] * 6
    assert collisions == []
