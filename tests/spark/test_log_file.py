from __future__ import annotations

from pathlib import Path

import pytest

from crawl.errors import EnvironmentFault
from crawl.spark import log_file
from crawl.spark.log_file import MAX_LOG_FILES, new_log_file


class FixedClock:
    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return 0.0


def test_a_log_lies_in_the_state_folder_named_by_time(tmp_path: Path) -> None:
    log = new_log_file(FixedClock(0), {"XDG_STATE_HOME": str(tmp_path)})
    assert log.parent == tmp_path / "nutria" / "logs"
    assert log.name.startswith("crawl-19700101000000-")
    assert log.read_bytes() == b""


def test_home_is_the_default(tmp_path: Path) -> None:
    log = new_log_file(FixedClock(0), {"HOME": str(tmp_path)})
    assert log.parent == tmp_path / ".local/state/nutria/logs"


def test_a_named_folder_is_made(tmp_path: Path) -> None:
    log = new_log_file(FixedClock(0), {"CRAWL_LOG_DIR": str(tmp_path / "a" / "b")})
    assert log.parent == tmp_path / "a" / "b"


def test_a_named_folder_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFault, match=r"^cannot write a log in CRAWL_LOG_DIR="):
        new_log_file(FixedClock(0), {"CRAWL_LOG_DIR": str(tmp_path / "file" / "logs")})


def test_a_home_that_cannot_be_written_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(log_file, "scratch_folder", lambda: tmp_path / "scratch")
    log = new_log_file(FixedClock(0), {"XDG_STATE_HOME": str(tmp_path / "file")})
    assert log.parent == tmp_path / "scratch" / "logs"


def test_only_the_newest_logs_are_kept(tmp_path: Path) -> None:
    environment = {"CRAWL_LOG_DIR": str(tmp_path)}
    (tmp_path / "notes.txt").touch()
    made = [
        new_log_file(FixedClock(day * 86_400_000), environment) for day in range(MAX_LOG_FILES + 5)
    ]
    assert sorted(tmp_path.glob("*.log")) == made[-MAX_LOG_FILES:]
    assert (tmp_path / "notes.txt").exists()
