"""What scripts/test runs for which words, with stand-ins for the gates and for pytest."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "#!/bin/bash\nprintf '%s|' \"$@\"\nexit {code}\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Our script, and nothing behind it."""
    for folder in ("scripts", ".ci", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "test", tmp_path / "scripts")
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    bootstrap = f"root={tmp_path} venv={tmp_path}/.venv\nbootstrap() {{ :; }}\n"
    (tmp_path / "scripts/bootstrap.sh").write_text(bootstrap + "bootstrap_java() { :; }\n")
    program(tmp_path / "scripts/check", 'printf "check %s|" "$*"\n')
    program(tmp_path / ".venv/bin/python", PYTHON.format(code=0))
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(text if text.startswith("#!") else f"#!/bin/bash\n{text}")
    path.chmod(0o755)


def run(program: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [program, *words], cwd="/", capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "check --no-tests|-m|pytest|-m|not cluster|-q|"),
        (["--all"], "check --no-tests|-m|pytest|-q|"),
        (["--cluster"], "-m|pytest|-m|cluster|"),
        (["--cluster", "tests/spark", "-x"], "-m|pytest|-m|cluster|tests/spark|-x|"),
        (["--all", "tests/spark"], "-m|pytest|tests/spark|"),
        (["tests/a b", "-k", "x"], "-m|pytest|tests/a b|-k|x|"),
    ],
)
def test_words(checkout: Path, words: list[str], told: str) -> None:
    assert run(checkout / "scripts/test", *words) == (0, told)


def test_ci_runs_everything(checkout: Path) -> None:
    assert run(checkout / ".ci/run") == run(checkout / "scripts/test", "--all")


def test_a_gate_that_fails_does_not_keep_the_tests_from_running(checkout: Path) -> None:
    program(checkout / "scripts/check", "exit 1\n")
    assert run(checkout / "scripts/test") == (1, "-m|pytest|-m|not cluster|-q|")


def test_tests_that_fail(checkout: Path) -> None:
    program(checkout / ".venv/bin/python", PYTHON.format(code=1))
    assert run(checkout / "scripts/test")[0] == 1
    assert run(checkout / "scripts/test", "--cluster")[0] == 1
