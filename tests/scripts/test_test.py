"""What scripts/test runs for which arguments, with stand-ins for the gates and for pytest."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "#!/bin/bash\nprintf '%s|' \"$@\"\nexit {code}\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with our script and stand-ins for all that it calls."""
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


def run(program: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [program, *arguments],
        cwd="/",
        # as from a terminal, whatever this run of the tests was given
        env={key: value for key, value in os.environ.items() if key != "PROPERTY_TESTS"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


CHECK = "check |"
COVERED = "check --coverage|"
"""Where all layers run, what the quick tests cover is counted too."""
STARTED = "-m|tests.quick_jvm|"
"""Before any test that needs a JVM, whatever the gates said."""
SIDE_BY_SIDE = "-n|auto|--maxprocesses|4|--dist|loadfile|--no-loadscope-reorder|"
SPARK_AND_SLOW = (
    f"{STARTED}-m|pytest|-q|-m|(spark or slow) and not cluster and not exhaustive|{SIDE_BY_SIDE}"
)
ALL = f"{STARTED}-m|pytest|-q|-m|spark or slow or cluster or exhaustive|{SIDE_BY_SIDE}"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], CHECK + SPARK_AND_SLOW),
        (["--all"], COVERED + ALL),
        (["--cluster"], f"{STARTED}-m|pytest|-m|cluster|{SIDE_BY_SIDE}"),
        (["--cluster", "tests/spark", "-x"], "-m|pytest|-m|cluster|tests/spark|-x|"),
        (["--all", "tests/spark"], "-m|pytest|tests/spark|"),
        (["tests/a b", "-k", "x"], "-m|pytest|tests/a b|-k|x|"),
    ],
)
def test_arguments(checkout: Path, arguments: list[str], expected: str) -> None:
    assert run(checkout / "scripts/test", *arguments) == (0, expected)


def test_ci_runs_everything(checkout: Path) -> None:
    assert run(checkout / ".ci/run") == run(checkout / "scripts/test", "--all")


def test_only_ci_tries_all_examples(checkout: Path) -> None:
    program(checkout / "scripts/check", 'printf "%s" "${PROPERTY_TESTS:-quick}"\n')
    assert run(checkout / "scripts/test", "--all")[1].startswith("thorough")
    assert run(checkout / "scripts/test")[1].startswith("quick")


def test_a_gate_that_fails_does_not_keep_the_tests_from_running(checkout: Path) -> None:
    program(checkout / "scripts/check", "exit 1\n")
    assert run(checkout / "scripts/test") == (1, SPARK_AND_SLOW)


def test_tests_that_fail(checkout: Path) -> None:
    program(checkout / ".venv/bin/python", PYTHON.format(code=1))
    assert run(checkout / "scripts/test") == (1, CHECK + SPARK_AND_SLOW)
    assert run(checkout / "scripts/test", "--all") == (1, COVERED + ALL)
    assert run(checkout / "scripts/test", "--cluster")[0] == 1
    assert run(checkout / "scripts/test", "tests/spark")[0] == 1


def test_ctrl_c_ends_it_although_a_layer_ends_in_good_order(checkout: Path) -> None:
    """As at a terminal, where every process gets it; pytest then prints its summary, and exits."""
    program(
        checkout / ".venv/bin/python",
        "trap 'echo interrupted; exit 2' INT\necho begun\nwhile :; do sleep 0.05; done\n",
    )
    process = subprocess.Popen(
        [checkout / "scripts/test", "--all"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"{COVERED}begun\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n"
    assert process.returncode == 130
