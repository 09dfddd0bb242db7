"""Where the temporary folders of tests lie."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.in_memory import MIN_ROOM, has_room


def machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, free: int, available: int, flags: int = 0
) -> Path:
    facts = SimpleNamespace(f_bavail=free >> 12, f_frsize=1 << 12, f_flag=flags)
    monkeypatch.setattr(os, "statvfs", lambda _: facts)
    memory = folder / "meminfo"
    memory.write_text(f"MemTotal: 1 kB\nMemAvailable:   {available >> 10} kB\n")
    return memory


@pytest.mark.parametrize(
    ("free", "available", "flags", "expected"),
    [
        (MIN_ROOM, MIN_ROOM, 0, True),
        (64 << 20, MIN_ROOM, 0, False),  # of a container
        (MIN_ROOM, MIN_ROOM - 1024, 0, False),
        (MIN_ROOM, MIN_ROOM, os.ST_NOEXEC, False),
    ],
)
def test_memory_is_used_where_it_is_enough(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    available: int,
    flags: int,
    expected: bool,
) -> None:
    memory = machine(tmp_path, monkeypatch, free, available, flags)
    assert has_room(tmp_path, memory) is expected


def test_elsewhere_the_disk_is_used(tmp_path: Path) -> None:
    assert not has_room(tmp_path / "none")
    assert not has_room(tmp_path, tmp_path / "none")
