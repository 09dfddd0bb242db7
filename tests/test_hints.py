from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crawl.hints import CALLED_AS, command, install, program


def called_as(patch: pytest.MonkeyPatch, name: str) -> None:
    patch.delenv(CALLED_AS, raising=False)
    patch.setattr(sys, "argv", [name])


def test_a_command_on_the_path_goes_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "bin" / "crawl"
    installed.parent.mkdir()
    installed.write_text("")
    installed.chmod(0o755)
    called_as(monkeypatch, str(installed))
    assert program() == str(installed), "who is to type it needs all of it"
    monkeypatch.setenv("PATH", str(installed.parent))
    assert command("fetch", "mycrawl") == "crawl fetch mycrawl"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/somewhere/crawl/__main__.py", "python -m crawl"),
        ("/somewhere/bin/pytest", "crawl"),
        ("-c", "crawl"),
        ("", "crawl"),
        ("my venv/bin/crawl", "'my venv/bin/crawl'"),
    ],
)
def test_other_ways_to_call_it(name: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called_as(monkeypatch, name)
    assert program() == expected
    assert command("status") == f"{expected} status"


def test_a_script_that_wraps_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    called_as(monkeypatch, "/repo/.venv/bin/crawl")
    monkeypatch.setenv(CALLED_AS, "./scripts/crawl")
    assert command("readdb", "c", "--stats") == "./scripts/crawl readdb c --stats"


def test_a_job_is_followed_by_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    called_as(monkeypatch, "jobs/generate.py")
    assert command("fetch", "hdfs://n/c") == "spark-submit … jobs/nutria.py fetch hdfs://n/c"


def test_extras_are_installed_from_the_sources() -> None:
    assert install("s3") == "pip install '.[s3]'"


def test_no_text_names_a_package_that_nobody_publishes() -> None:
    root = Path(__file__).parents[1]
    texts = [*root.glob("*.md"), *root.glob("docker/*"), *root.rglob("crawl/**/*.py")]
    for path in texts:
        if path.is_file() and path.name != "CHANGELOG.md":
            assert "install 'nutria[" not in path.read_text(errors="replace"), path
