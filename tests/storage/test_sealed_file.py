from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.errors import StorageError
from crawl.storage.folder import Folder
from crawl.storage.sealed_file import SealedFile
from tests.examples import scaled
from tests.storage.crashing import Crash

Content = dict[str, Any]


class CuttingFolder:
    """Files in memory. A write can be cut at any byte, and somebody may look on between
    the truncation of a file and its new bytes."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.budget: int | None = None
        """How many steps (a truncation, a byte) are left before the crash."""
        self.looks_on: list[Any] = []

    def path(self, name: str) -> str:
        return f"fake/{name}"

    def read(self, name: str) -> bytes | None:
        return self.files.get(name)

    def write(self, name: str, data: bytes) -> None:
        self._spend(1)
        self.files[name] = b""
        self._looked_at()
        for end in range(1, len(data) + 1):
            self._spend(1)
            self.files[name] = data[:end]
        self._looked_at()

    def _spend(self, steps: int) -> None:
        if self.budget is not None:
            if self.budget < steps:
                raise Crash
            self.budget -= steps

    def _looked_at(self) -> None:
        for look in self.looks_on:
            look()


def pointer_in(folder: CuttingFolder) -> SealedFile:
    return SealedFile(cast(Folder, folder), "CURRENT", unsealed=False)


contents = st.dictionaries(
    st.text(max_size=3), st.integers() | st.text(max_size=5) | st.lists(st.integers()), max_size=3
)


@given(contents)
@settings(max_examples=scaled(30))
def test_what_is_written_is_read(content: Content) -> None:
    folder = CuttingFolder()
    assert pointer_in(folder).read() is None
    pointer_in(folder).write(content)
    assert pointer_in(folder).read() == content


@pytest.mark.parametrize("before", range(4))
def test_a_crash_after_any_byte_leaves_the_old_or_the_new(before: int) -> None:
    """`before` whole writes, then one that is cut anywhere, then another cut anywhere
    (at a coarser grain), then a whole one."""
    for budget in range(200):
        folder = CuttingFolder()
        pointer = pointer_in(folder)
        for number in range(before):
            pointer.write({"number": number})
        old = pointer.read()
        folder.budget = budget
        crashed = _write(pointer, {"number": 100})
        folder.budget = None
        first = pointer_in(folder).read()
        assert first in (old, {"number": 100})
        for second_budget in range(0, 150, 7):
            copy = CuttingFolder()
            copy.files = dict(folder.files)
            copy.budget = second_budget
            _write(pointer_in(copy), {"number": 200})
            copy.budget = None
            assert pointer_in(copy).read() in (first, {"number": 200})
            pointer_in(copy).write({"number": 300})
            assert pointer_in(copy).read() == {"number": 300}
        if not crashed:
            assert first == {"number": 100}
            break
    else:
        pytest.fail("the write never came to its end")


def _write(pointer: SealedFile, content: Content) -> bool:
    """Writes, and returns whether the write was cut."""
    try:
        pointer.write(content)
    except Crash:
        return True
    return False


@given(st.lists(st.tuples(st.integers(0, 130), st.booleans()), max_size=12))
@settings(max_examples=scaled(60))
def test_any_history_of_crashes_and_writes(steps: list[tuple[int, bool]]) -> None:
    folder = CuttingFolder()
    expected: tuple[Content | None, ...] = (None,)
    for number, (budget, cut) in enumerate(steps):
        folder.budget = budget if cut else None
        crashed = _write(pointer_in(folder), {"number": number})
        folder.budget = None
        content = pointer_in(folder).read()
        assert content in ((*expected, {"number": number}) if crashed else ({"number": number},))
        expected = (content,)


def test_a_reader_in_the_middle_of_a_write_sees_the_old_or_the_new() -> None:
    folder = CuttingFolder()
    pointer = pointer_in(folder)
    seen: list[Content | None] = []
    folder.looks_on.append(lambda: seen.append(pointer_in(folder).read()))
    pointer.write({"number": 1})
    assert all(content in (None, {"number": 1}) for content in seen)
    seen.clear()
    for number in range(2, 5):
        pointer.write({"number": number})
        assert all(content in ({"number": number - 1}, {"number": number}) for content in seen)
        assert len(seen) == 4
        seen.clear()


def test_a_writer_that_goes_on_between_a_readers_two_looks() -> None:
    """The reader sees the file torn; by the time it looks at the copy, the writer has
    finished and is tearing the copy for its next write."""
    folder = CuttingFolder()
    pointer = pointer_in(folder)
    pointer.write({"number": 1})
    pointer.write({"number": 2})
    states = iter(
        [
            {"CURRENT": b"", "CURRENT.copy": folder.files["CURRENT"]},
            {"CURRENT": folder.files["CURRENT"], "CURRENT.copy": b""},
        ]
    )
    plain_read = folder.read

    def read(name: str) -> bytes | None:
        folder.files = next(states, folder.files)
        return plain_read(name)

    folder.read = read  # type: ignore[method-assign]
    assert pointer.read() == {"number": 2}


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\x00", b'{"number": 2}\n0123456789abcdef\n'])
def test_damage_of_both_is_reported_and_never_taken_for_a_fresh_start(damage: bytes) -> None:
    folder = CuttingFolder()
    pointer = pointer_in(folder)
    pointer.write({"number": 1})
    pointer.write({"number": 2})
    folder.files["CURRENT"] = damage
    assert pointer.read() == {"number": 2}
    folder.files["CURRENT.copy"] = damage
    for call in (pointer.read, lambda: pointer.write({"number": 3})):
        with pytest.raises(StorageError, match=r"fake/CURRENT is damaged: .*crawl check"):
            call()
    del folder.files["CURRENT.copy"]
    with pytest.raises(StorageError):
        pointer.read()


def test_damage_after_the_first_write_costs_nothing() -> None:
    folder = CuttingFolder()
    pointer_in(folder).write({"number": 1})
    folder.files["CURRENT"] = b""
    assert pointer_in(folder).read() == {"number": 1}


def test_on_real_file_systems(place: Folder) -> None:
    pointer = SealedFile(place, "CURRENT")
    assert pointer.read() is None
    for number in range(3):
        pointer.write({"number": number, "text": "ä\n"})
        assert SealedFile(place, "CURRENT").read() == {"number": number, "text": "ä\n"}
    place.write("CURRENT", b"torn")
    assert pointer.read() == {"number": 2, "text": "ä\n"}
    assert pointer.heal() and not pointer.heal()
    assert place.read("CURRENT") == place.read("CURRENT.copy")
