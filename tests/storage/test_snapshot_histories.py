"""Any history of states, and a death at any change of a file."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl.storage.folder import Folder, attempt_name
from crawl.storage.lock import LOCK_NAME
from crawl.storage.snapshot import Dataset
from tests.examples import scaled
from tests.storage.conftest import Lives
from tests.storage.crashing import Crash, crashing
from tests.storage.snapshots import (
    BUCKETS,
    content_of,
    named_files,
    publish,
    writing,
)

Step = Callable[[Dataset], object]


def _roll_back(dataset: Dataset) -> None:
    with writing(dataset) as transaction:
        transaction.roll_back(2)


def _forget(dataset: Dataset) -> None:
    with writing(dataset) as transaction:
        transaction.keep_newest(1)


@pytest.mark.parametrize(
    ("before", "step", "after"),
    [
        (0, lambda dataset: publish(dataset, {0: b"new"}), {0: b"new"}),
        (3, lambda dataset: publish(dataset, {0: b"new"}, keep=2), {0: b"new", 1: b"shared"}),
        (3, _roll_back, {0: b"2", 1: b"shared"}),
        (3, _forget, {0: b"3", 1: b"shared"}),
    ],
    ids=["first", "publish", "roll back", "forget"],
)
@pytest.mark.parametrize("place", ["file", "memory"], indirect=True)  # where a write can tear
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_crash_at_any_change_leaves_the_former_or_the_new_state(
    place: Folder,
    lives: Lives,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
    step: Step,
    after: dict[int, bytes],
    share: float,
) -> None:
    at = 0
    finished = False
    former = Dataset(place.child("former"))
    for number in range(1, before + 1):
        publish(former, {0: b"%d" % number, **({1: b"shared"} if number == 1 else {})})
    old = content_of(former, former.current())
    files = {name: former.folder.read(name) or b"" for name in former.folder.files()}
    while not finished:
        at += 1
        dataset = Dataset(place.child(str(at)))
        for name, data in files.items():
            dataset.folder.write(name, data)
        with crashing(monkeypatch, at, share) as fuse:
            try:
                step(dataset)
                finished = not fuse.burnt
            except Crash:
                pass
        lives.end()

        survivor = Dataset(place.child(str(at)))
        seen = content_of(survivor, survivor.current())
        assert seen in ((after,) if finished else (old, after))
        for number in survivor.timeline().numbers:
            assert None not in content_of(survivor, survivor.snapshot(number)).values()

        # whoever takes over leaves a number to the dead, in case that it only sleeps
        skipped = survivor.folder.exists(LOCK_NAME)
        taken = survivor.timeline().next_number
        following = publish(survivor, {2: b"following"})
        assert following.number == taken + skipped
        assert content_of(survivor, survivor.current()) == {**seen, 2: b"following"}
        assert set(survivor.folder.files()) <= named_files(survivor)
        assert named_files(survivor) - set(survivor.folder.files()) <= {"CURRENT.copy"}
        survivor.folder.delete("")
    assert at > 5


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("publish"), st.integers(1, 3), st.integers(0, BUCKETS - 1)),
            st.tuples(st.just("roll back"), st.integers(1, 12), st.just(0)),
            st.tuples(st.just("keep"), st.integers(1, 3), st.just(0)),
            st.tuples(st.just("crash"), st.integers(1, 14), st.integers(0, BUCKETS - 1)),
        ),
        max_size=10,
    )
)
@settings(
    max_examples=scaled(25),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_any_history_against_a_plain_model(
    lives: Lives, monkeypatch: pytest.MonkeyPatch, history: list[tuple[str, int, int]]
) -> None:
    place = Folder(f"memory://{attempt_name('history')}")
    dataset = Dataset(place)
    states: dict[int, dict[int, bytes]] = {}
    kept: list[int] = []
    for step, (kind, argument, bucket) in enumerate(history):
        text = b"%d" % step
        if kind == "publish":
            number = publish(dataset, {bucket: text}, keep=argument).number
            assert number not in states
            states[number] = {**(states[kept[-1]] if kept else {}), bucket: text}
            kept = [*kept, number][-argument:]
        elif kind == "roll back" and argument in kept:
            with writing(dataset) as transaction:
                transaction.roll_back(argument)
            kept = [*(number for number in kept if number != argument), argument]
        elif kind == "keep":
            with writing(dataset) as transaction:
                transaction.keep_newest(argument)
            kept = kept[-argument:]
        elif kind == "crash":
            with crashing(monkeypatch, argument, 0.5) as fuse:
                try:
                    publish(dataset, {bucket: text}, keep=3)
                except Crash:
                    assert fuse.burnt
            lives.end()
            now = list(dataset.timeline().numbers)
            if now != kept:  # it got as far as its publication
                states[now[-1]] = {**(states[kept[-1]] if kept else {}), bucket: text}
                kept = [*kept, now[-1]][-3:]
        assert list(dataset.timeline().numbers) == kept
        for number in kept:
            assert content_of(dataset, dataset.snapshot(number)) == states[number]
    place.delete("")
