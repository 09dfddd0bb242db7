from __future__ import annotations

import subprocess
import sys

import pytest

from crawl.operations.registry import OURS
from crawl.version import __version__
from tests.cli.calling import Caller


def test_help_lists_every_command(crawl: Caller) -> None:
    answer = crawl("--help")
    assert answer.code == 0
    for name, listed in OURS.items():
        assert name in answer.out
        assert listed.summary in answer.out


@pytest.mark.parametrize("name", OURS)
def test_every_command_has_help_with_examples(crawl: Caller, name: str) -> None:
    arguments = [name, "list", "--help"] if name == "plugin" else [name, "--help"]
    answer = crawl(*arguments)
    assert answer.code == 0
    assert "Examples:" in answer.out


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys; from crawl.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pyspark', 'pyarrow', 'numpy', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version(crawl: Caller) -> None:
    assert crawl("--version").out == f"crawl, version {__version__}\n"


def test_a_typo_suggests_the_command(crawl: Caller) -> None:
    answer = crawl("injcet", "x", "y")
    assert answer.code == 2
    assert "did you mean 'inject'?" in answer.err


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("updatedb mycrawl --force", ["--again takes", "--steal-lock takes"]),
        ("fetch mycrawl --force", ["--steal-lock takes"]),
        ("readdb mycrawl --dump out --force", ["--overwrite replaces"]),
        ("inject mycrawl seeds.txt --force", ["--steal-lock takes"]),
        ("status mycrawl --force", []),
    ],
)
def test_the_old_force_tells_what_may_be_meant(crawl: Caller, line: str, meant: list[str]) -> None:
    answer = crawl(*line.split())
    assert answer.code == 2 and "there is no --force" in answer.err
    told = [each for each in ("--again", "--steal-lock", "--overwrite") if each in answer.err]
    assert told == [each.split()[0] for each in meant]
    assert all(each in answer.err for each in meant)


def test_a_missing_argument_is_reported(crawl: Caller) -> None:
    answer = crawl("inject", "somewhere")
    assert answer.code == 2
    assert answer.err == "crawl: Missing argument 'SEEDS...'; see `crawl inject --help`\n"


@pytest.mark.parametrize("name", ["readdb", "generate", "snapshots", "rollback", "gc"])
def test_a_folder_without_a_crawldb_says_how_to_start_one(
    crawl: Caller, tmp_path: object, name: str
) -> None:
    arguments = ["--stats"] if name == "readdb" else []
    answer = crawl(name, tmp_path, *arguments)
    assert answer.code == 2
    assert answer.err == (
        f"crawl: {tmp_path} has no CrawlDb yet: start it with `crawl inject {tmp_path} SEEDS`\n"
    )


def test_an_unknown_property_suggests_the_nearest(crawl: Caller, made: str) -> None:
    answer = crawl("generate", made, "-D", "generate.max.cuont=5")
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "did you mean 'generate.max.count'?" in answer.err


def test_an_unknown_file_system_is_reported(crawl: Caller) -> None:
    answer = crawl("readdb", "nosuch://bucket/crawl", "--stats")
    assert answer.code == 2
    assert answer.err.startswith("crawl: nosuch://bucket/crawl/crawldb")
    assert "no file system for 'nosuch'" in answer.err


def test_a_fault_of_ours_is_one_line(crawl: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def burst(*_: object, **__: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("crawl.storage.crawl_dir.CrawlDir", burst)
    answer = crawl("snapshots", "x")
    assert answer.code == 70
    assert answer.err.startswith("crawl: internal error: RuntimeError: unforeseen")
    assert answer.err.count("\n") == 1


def test_an_interrupt_is_130(crawl: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("crawl.storage.crawl_dir.CrawlDir", interrupt)
    assert crawl("snapshots", "x").code == 130
