"""Files and folders that a user names for what is found: looked at before any work is done, and
never half written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from crawl.cli.main import main
from crawl.operations.work import Work
from crawl.spark.engine import SparkEngine
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from tests.cli.calling import Caller
from tests.phases.killed import Moment, run_killed, write_kind
from tests.phases.linked_crawl import in_this_process, make_linked_crawl, rows_of

FILES: list[list[str]] = [
    ["dedup", "--report", "out.json"],
    ["dedup", "--report", "out.parquet"],
    ["dust", "--apply", "out.txt"],
    ["mirrors", "--hosts-file", "out.txt"],
    ["mirrors", "--protocols-file", "out.txt"],
    ["domainstats", "--plot", "out.svg"],
    ["crawlcomplete", "--plot", "out.png"],
    ["protocolstats", "--plot", "out.pdf"],
    ["linkstats", "--plot", "out.svg"],
]
FOLDERS: list[list[str]] = [["readhostdb", "--dump", "out"], ["readdb", "--dump", "out"]]
ROOT = os.geteuid() == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("outputs") / "crawl"
    make_linked_crawl(str(place))
    return place


@contextmanager
def no_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever begins to work fails."""

    def runner(
        self: SparkEngine, work: Work, *, rows: int | None = None, quiet: bool = False
    ) -> NoReturn:
        pytest.fail("work was begun")

    with monkeypatch.context() as patched:
        patched.setattr(SparkEngine, "runner", runner)
        patched.setattr(SparkEngine, "session", runner)
        yield


@pytest.mark.parametrize("command", [*FILES, *FOLDERS], ids=" ".join)
def test_what_cannot_be_written_is_one_line_before_any_work(
    crawl: Caller,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    name, option, path = command
    before = rows_of(CrawlDir(str(whole)))
    (tmp_path / "file").write_text("mine")
    wrong = {tmp_path / "file" / path: "a part of the path is a file"}
    cannot = "cannot be written: " if command in FILES else "cannot be written to: "
    if command in FILES:
        (tmp_path / path).mkdir()
        wrong[tmp_path / path] = "is a folder: name a file"
    else:
        wrong[tmp_path / "file"] = "is a file: name a folder"
    if ROOT:
        wrong[Path("/proc") / path] = cannot
    else:
        (tmp_path / "closed").mkdir(mode=0o500)
        wrong[tmp_path / "closed" / path] = "permission denied"
    with no_work(monkeypatch):
        for place, said in wrong.items():
            answer = crawl(name, whole, option, place)
            assert (answer.code, answer.err.count("\n")) == (2, 1), answer
            assert said in answer.err
    assert rows_of(CrawlDir(str(whole))) == before
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("command", FILES, ids=" ".join)
def test_the_folder_of_a_file_is_made(
    crawl: Caller,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    root = shutil.copytree(whole, tmp_path / "crawl")
    name, option, path = command
    with in_this_process(monkeypatch):
        answer = crawl(name, root, option, tmp_path / "new" / path)
    assert answer.code in (0, 1), answer.err
    assert [each.name for each in (tmp_path / "new").iterdir()] == [path]


def call(*words: str) -> None:
    """A command in a child, which works in its own process."""
    with pytest.MonkeyPatch.context() as patched, in_this_process(patched):
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        assert ended.value.code == 0


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("command", [FILES[0], FILES[1], FILES[8]], ids=" ".join)
def test_a_killed_command_leaves_no_half_file(
    whole: Path, tmp_path: Path, command: list[str]
) -> None:
    name, option, path = command
    place = tmp_path / path
    call(name, str(shutil.copytree(whole, tmp_path / "first")), option, str(place))
    wanted = place.read_bytes()
    met = []
    for number, how in enumerate((", torn", "")):
        place.write_bytes(b"before")
        root = shutil.copytree(whole, tmp_path / f"killed-{number}")
        moment = Moment(f"write {write_kind(Folder(str(tmp_path)), path)}{how}", 1)
        assert run_killed(call, name, str(root), option, str(place), at=moment)
        met.append(place.read_bytes())
    assert met == [b"before", wanted]


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_killed_dump_has_whole_files_and_no_mark(whole: Path, tmp_path: Path, form: str) -> None:
    def files_of(folder: Path) -> dict[str, bytes]:
        found = folder.iterdir() if folder.exists() else ()
        return {each.name: each.read_bytes() for each in found if each.name[0] != "."}

    dump = ("readhostdb", str(whole), "--format", form, "--dump")
    call(*dump, str(tmp_path / "whole"))
    wanted = files_of(tmp_path / "whole")
    assert len(wanted) == 3
    at, killed = 1, True
    while killed:
        place = tmp_path / f"killed-{at}"
        killed = run_killed(call, *dump, str(place), at=at)
        found = files_of(place)
        assert found.items() <= wanted.items()
        assert ("_SUCCESS" in found) <= (found == wanted)
        call(*dump, str(place), "--overwrite")
        assert files_of(place) == wanted
        at += 1
    assert at > 5


def test_a_report_that_nobody_asked_for_is_not_there(
    crawl: Caller, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(whole, tmp_path / "crawl")
    monkeypatch.chdir(tmp_path)
    with in_this_process(monkeypatch):
        values = crawl("dedup", root, "--json").json
    assert values["groups"] == [] and values["groups_left_out"] == values["groups_found"] > 0
    assert [each.name for each in tmp_path.iterdir()] == ["crawl"]
