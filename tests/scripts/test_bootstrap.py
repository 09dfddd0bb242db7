"""The decisions of scripts/bootstrap.sh, on a machine made of stand-ins: a PATH with only
the named programs, so that nothing is downloaded and no package manager is reached."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
TOOLS = (
    "basename bash cat chmod cksum cp dirname flock grep head id mkdir paste pwd readlink rm sed"
)

PYTHON = """\
#!/bin/bash
case "$*" in
    "-c import sys; "*) [[ {version} > 3.10 ]] ;;
    "-c import ensurepip, venv") {has_venv} ;;
    --version) echo "Python {version}" ;;
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && chmod +x "$3/bin/python" ;;
    "-m pip --version") true ;;
    "-m pip install "*) echo "$*" >>"{log}"; {pip} ;;
    *) exit 9 ;;
esac
"""


class Machine:
    """A folder with our scripts and a PATH of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "my checkout"
        self.bin = folder / "bin"
        self.log = folder / "pip.log"
        (self.root / "scripts").mkdir(parents=True)
        self.bin.mkdir()
        shutil.copy(SCRIPTS / "bootstrap.sh", self.root / "scripts")
        for name in ("setup.cfg", "pyproject.toml", "scripts/constraints.txt"):
            (self.root / name).write_text("first\n")
        for tool in TOOLS.split():
            found = shutil.which(tool)
            if found:
                (self.bin / tool).symlink_to(found)

    def program(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def python(
        self, name: str = "python3", version: str = "3.11", has_venv: bool = True, pip: str = "true"
    ) -> None:
        venv = "true" if has_venv else "false"
        self.program(name, PYTHON.format(version=version, has_venv=venv, log=self.log, pip=pip))

    def run(self, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                self.bin / "bash",
                "-c",
                f'set -euo pipefail; source "{self.root}/scripts/bootstrap.sh"; {command}',
                "crawl",
            ],
            env={"PATH": str(self.bin), **variables},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def installs(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_first_run_installs_and_the_second_does_nothing(machine: Machine) -> None:
    machine.python()
    first = machine.run("bootstrap")
    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr == "installing packages into .venv (once)…\n"
    second = machine.run("bootstrap")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert len(machine.installs) == 1
    assert machine.installs[0].endswith(f"--editable {machine.root}")


def test_an_extra_is_added_to_what_is_there(machine: Machine) -> None:
    machine.python()
    machine.run("bootstrap")
    machine.run("bootstrap test check")
    machine.run("bootstrap check")
    assert len(machine.installs) == 2
    assert machine.installs[1].endswith(f"{machine.root}[test,check]")


@pytest.mark.parametrize("name", ["setup.cfg", "pyproject.toml", "scripts/constraints.txt"])
def test_a_changed_declaration_installs_again(machine: Machine, name: str) -> None:
    machine.python()
    machine.run("bootstrap")
    (machine.root / name).write_text("second\n")
    machine.run("bootstrap")
    assert len(machine.installs) == 2


def test_a_moved_checkout_installs_again(machine: Machine) -> None:
    machine.python()
    machine.run("bootstrap")
    machine.root = machine.root.rename(machine.root.with_name("elsewhere"))
    machine.run("bootstrap")
    assert machine.installs[-1].endswith("elsewhere")


def test_a_failed_install_is_tried_again(machine: Machine) -> None:
    machine.python(pip="exit 1")
    failed = machine.run("bootstrap; echo went on")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.splitlines()[-1].startswith("crawl: the packages could not be installed")
    shutil.rmtree(machine.root / ".venv")
    machine.python()
    assert machine.run("bootstrap").returncode == 0


def test_a_venv_whose_python_is_gone_is_made_anew(machine: Machine) -> None:
    machine.python()
    machine.run("bootstrap")
    (machine.root / ".venv/bin/python").unlink()
    assert machine.run("bootstrap").returncode == 0
    assert (machine.root / ".venv/bin/python").exists()


def test_a_newer_python_beside_an_old_one_is_found(machine: Machine) -> None:
    machine.python("python3", version="3.09")
    machine.python("python3.12", version="3.12")
    assert machine.run("find_python").stdout == "python3.12\n"


def test_an_old_python_is_one_line(machine: Machine) -> None:
    machine.python(version="3.09")
    refused = machine.run("bootstrap")
    assert refused.returncode == 2
    assert refused.stderr == (
        "crawl: Python 3.11 or newer is needed, found Python 3.09:"
        " install one or set PYTHON to its path\n"
    )
    assert machine.installs == []


def test_no_python_is_one_line(machine: Machine) -> None:
    refused = machine.run("bootstrap")
    assert refused.returncode == 2
    assert "found no Python: install one" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_a_python_without_venv_is_one_line(machine: Machine) -> None:
    machine.python(has_venv=False)
    refused = machine.run("bootstrap")
    assert refused.returncode == 2
    assert refused.stderr == (
        "crawl: python3 cannot make virtual environments: install its venv package"
        " (apt-get install python3-venv)\n"
    )


def a_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(f"#!/bin/bash\necho 'openjdk version \"{version}\"' >&2\n")
    (home / "bin" / "java").chmod(0o755)
    return home


@pytest.mark.parametrize(
    ("version", "enough"), [("17.0.15", 0), ("25", 0), ("11.0.2", 1), ("1.8.0_402", 1)]
)
@pytest.mark.parametrize("release", [True, False])
def test_java_17_or_newer_is_enough(
    machine: Machine, tmp_path: Path, version: str, enough: int, release: bool
) -> None:
    home = a_java(tmp_path / "jdk", version)
    if release:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    assert machine.run(f'java_is_new_enough "{home}/bin/java"').returncode == enough


def test_java_comes_in_a_wheel_only_where_there_is_none(machine: Machine) -> None:
    machine.python()
    machine.run("bootstrap; have_java() { true; }; bootstrap_java")
    assert len(machine.installs) == 1
    machine.run("bootstrap; have_java() { false; }; bootstrap_java")
    machine.run("bootstrap; have_java() { false; }; bootstrap_java")
    assert len(machine.installs) == 2
    assert machine.installs[1].endswith("[java]")
