from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[3] / "scripts" / "bench" / "dedup.py"


@pytest.fixture
def dedup() -> Any:
    """The benchmark, which is in no package."""
    spec = importlib.util.spec_from_file_location("bench_dedup", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("mine", "theirs", "is_met"),
    [
        ((15.0, 7), [(10.0, 7), (1.0, 7)], True),  # beside the first, which does not sort
        ((15.1, 7), [(10.0, 7), (99.0, 7)], False),
        ((1.0, 7), [(10.0, 7), (10.0, 8)], False),
    ],
)
def test_a_goal_that_is_missed_is_said(
    dedup: Any,
    mine: tuple[float, int],
    theirs: list[tuple[float, int]],
    is_met: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert dedup.meets_goals(mine, theirs) is is_met
    assert ("met" in capsys.readouterr().out) is is_met


@pytest.mark.parametrize(
    ("exact", "near", "groups", "code"),
    [(True, True, True, 0), (False, True, True, 1), (True, False, True, 1), (True, True, False, 1)],
)
def test_the_exit_code_tells_it(
    dedup: Any, monkeypatch: pytest.MonkeyPatch, exact: bool, near: bool, groups: bool, code: int
) -> None:
    monkeypatch.setattr("sys.argv", ["dedup"])
    monkeypatch.setattr(dedup, "bench_exact", lambda records: exact)
    monkeypatch.setattr(dedup, "bench_near", lambda count, few: near)
    monkeypatch.setattr(dedup, "bench_groups", lambda rows: groups)
    assert dedup.main() == code


@pytest.mark.parametrize(("seconds", "is_met"), [(15.0, True), (15.2, False)])
def test_a_row_among_many_takes_as_long_as_among_few(
    dedup: Any, seconds: float, is_met: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dedup.is_linear((200, 1.0), (2000, seconds)) is is_met
    assert ("MISSED" in capsys.readouterr().out) is not is_met


def test_groups_are_linked(dedup: Any, tmp_path: Path) -> None:
    assert dedup.link_groups(tmp_path, 1000)[0] == 1000
