"""What a killed writer left unfinished on a local disk is deleted, and a living one's is not."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.phases.gc.run import collect_garbage
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.filesystems import local_files
from crawl.storage.folder import Folder
from crawl.storage.output_file import check_output_file, write_output_file
from crawl.testing.clock import ManualClock
from tests.phases.killed import run_killed
from tests.phases.made import NOW, datum, make_crawldb

_context = multiprocessing.get_context("forkserver")


def _unfinished(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*") if local_files.is_unfinished(str(path))]


def test_a_file_that_is_being_written_stays(tmp_path: Path) -> None:
    place = Folder(str(tmp_path))
    with place.open_write("file", whole=True) as stream:
        stream.write(b"half")
        assert place.drop_uploads() == 0
        assert place.drop_uploads("file") == 0
        stream.write(b" and half")
    assert place.read("file") == b"half and half"
    assert _unfinished(tmp_path) == []


def _hold(path: str, tell: Connection) -> None:
    with Folder(path).open_write("file", whole=True) as stream:
        stream.write(b"half")
        stream.flush()
        tell.send("written")
        signal.pause()


@pytest.mark.slow
def test_a_file_of_another_process_stays_until_it_dies(tmp_path: Path) -> None:
    here, there = _context.Pipe()
    child = _context.Process(target=_hold, args=(str(tmp_path), there))
    child.start()
    try:
        assert here.recv() == "written"
        place = Folder(str(tmp_path))
        assert len(_unfinished(tmp_path)) == 1
        assert place.drop_uploads() == 0
        assert len(_unfinished(tmp_path)) == 1
    finally:
        child.kill()
        child.join()
    assert place.drop_uploads("other") == 0
    assert place.drop_uploads("file") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_dropped_as_soon_as_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its creation and the lock it looks like a dead writer's: then another is made."""
    place, lock = Folder(str(tmp_path)), fcntl.flock
    dropped: list[int] = []

    def late(descriptor: int, how: int) -> None:
        if not dropped and not how & fcntl.LOCK_NB:
            dropped.append(place.drop_uploads())
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with place.open_write("file", whole=True) as stream:
        stream.write(b"whole")
    assert dropped == [1] and place.read("file") == b"whole"
    dropped.clear()
    place.write("file", b"small")
    assert dropped == [1] and place.read("file") == b"small"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


@pytest.mark.slow
def test_an_output_file_of_a_user(tmp_path: Path) -> None:
    address = str(tmp_path / "report.json")
    (tmp_path / ".mine.unfinished").write_bytes(b"of somebody else")
    for at in (4, 1):  # in the middle of the file, and of what is written to see whether one can be
        assert run_killed(_written, address, at=at)
        assert len(_unfinished(tmp_path)) == 2, "half a file, but for a former death's"
    _written(address)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.unfinished", "report.json"]


def _written(address: str) -> None:
    check_output_file(address)
    write_output_file(address, b"whole")


def test_gc_takes_what_is_left_anywhere_in_a_crawl(tmp_path: Path) -> None:
    address = str(tmp_path / "crawl")
    make_crawldb(address, {"http://a.com/": datum(fetch_time=NOW)})
    crawl_dir = CrawlDir(address)
    for name in (".writable", "segments/20261115093001/parse.json", "index/jsonl/FOLDERS", "x/y"):
        path = Path(local_files.unfinished(str(Path(address, name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
    with crawl_dir.segments.folder.open_write("living", whole=True) as stream:
        stream.write(b"half")
        assert len(_unfinished(tmp_path)) == 5
        done = collect_garbage(crawl_dir, Config.of({}), ManualClock(NOW), None, steal_lock=False)
        assert len(_unfinished(tmp_path)) == 1
    assert done.files_deleted >= 3
    assert crawl_dir.segments.folder.read("living") == b"half"
