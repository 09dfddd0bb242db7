"""What scripts/check runs and in which order it tells of it, with stand-ins for all gates."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.scripts.test_test import PYTHON, ROOT, program, run

GATES = ("ruff", "mypy", "lint-imports")
TOLD = "ruff format|ruff check|mypy --strict|mypy --strict|lint-imports --no-cache|"
QUICK = "-m|pytest|-q|-n|auto|--maxprocesses|8|--dist|worksteal|-m|"
NO_MARKS = "not spark and not slow and not cluster and not exhaustive|"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with our script and stand-ins for all that it calls."""
    for folder in ("scripts", "tests", "jobs", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "check", tmp_path / "scripts")
    bootstrap = f"root={tmp_path} venv={tmp_path}/.venv\nbootstrap() {{ :; }}\n"
    (tmp_path / "scripts/bootstrap.sh").write_text(bootstrap)
    for name in GATES:
        program(tmp_path / ".venv/bin" / name, f'printf "{name} %s|" "$1"\n')
    program(tmp_path / ".venv/bin/python", PYTHON.format(code=0))
    (tmp_path / "tests/test_a.py").touch()
    return tmp_path


def test_gates_are_told_in_order_although_they_run_at_once(checkout: Path) -> None:
    assert run(checkout / "scripts/check") == (0, TOLD + QUICK + NO_MARKS)
    assert run(checkout / "scripts/check", "--no-tests") == (0, TOLD)


@pytest.mark.parametrize("name", GATES)
def test_a_gate_that_fails_does_not_keep_the_others_from_running(checkout: Path, name: str) -> None:
    program(checkout / ".venv/bin" / name, f'printf "{name} %s|" "$1"\nexit 1\n')
    assert run(checkout / "scripts/check") == (1, TOLD + QUICK + NO_MARKS)


def test_tests_are_compiled_once_before_they_run(checkout: Path) -> None:
    said = checkout / "said"
    program(checkout / ".venv/bin/python", f'printf "%s " "$@" >> {said}\necho >> {said}\n')
    for _ in range(2):
        assert run(checkout / "scripts/check") == (0, TOLD)
    first, *rest = said.read_text().splitlines()
    assert "--collect-only" in first
    assert len(rest) == 2 and not any("--collect-only" in line for line in rest)


def test_tests_that_cannot_be_compiled_are_left_to_the_tests(checkout: Path) -> None:
    program(checkout / ".venv/bin/python", PYTHON.format(code=1))
    assert run(checkout / "scripts/check") == (1, TOLD + QUICK + NO_MARKS)
    assert not (checkout / ".venv/.tests-compiled").exists()


def test_ctrl_c_ends_what_runs_beside(checkout: Path) -> None:
    """A process in the background does not hear of it."""
    beside = checkout / "beside"
    for name in ("lint-imports", "python"):
        endless = f"echo $$ >> {beside}\nwhile :; do sleep 0.05; done\n"
        program(checkout / ".venv/bin" / name, endless)
    program(
        checkout / ".venv/bin/mypy",
        f"while [[ $(wc -l < {beside}) -lt 2 ]]; do sleep 0.05; done\n"
        "trap 'exit 2' INT\necho begun\nwhile :; do sleep 0.05; done\n",
    )
    process = subprocess.Popen(
        [checkout / "scripts/check"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().endswith("begun\n")
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    limit = time.monotonic() + 30
    for pid in beside.read_text().split():
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < limit, "it runs on"
            time.sleep(0.05)
