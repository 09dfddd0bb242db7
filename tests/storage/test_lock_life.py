"""The holder of a lock renews it, and of many that try for it one gets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from crawl.errors import Locked
from crawl.storage.folder import Folder
from crawl.storage.lock import (
    LOCK_NAME,
    hold_lock,
)
from crawl.testing.clock import ManualClock
from tests.storage.conftest import Lives
from tests.storage.locks import NOW, STALE_MS, take


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
    with hold_lock(place, "inject", counting, stale_after_ms=STALE_MS, heartbeat_s=0.001) as lock:
        assert beats.wait(30)
        lock.verify()
    assert place.read(LOCK_NAME) is None
    names = {thread.name for thread in threading.enumerate()}
    assert "lock-heartbeat" not in names


def test_held_releases_after_a_fault(place: Folder, clock: ManualClock) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        hold_lock(place, "inject", clock, stale_after_ms=STALE_MS, heartbeat_s=3600),
    ):
        raise ZeroDivisionError
    assert place.files() == {}


def test_the_heart_of_a_robbed_owner_stops_and_leaves_the_thief_alone(
    place: Folder, clock: ManualClock
) -> None:
    with hold_lock(place, "inject", clock, stale_after_ms=STALE_MS, heartbeat_s=0.2):
        thief = take(place, clock, steal_lock=True)
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
from crawl.storage.lock import hold_lock
with hold_lock(Folder(sys.argv[1]), "inject", SystemClock(), stale_after_ms=1e9, heartbeat_s=0.01):
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
