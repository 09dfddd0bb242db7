from __future__ import annotations

import os
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import Locked, NoSnapshot, StorageError
from crawl.model.report import Report
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.lock import acquire
from crawl.storage.manifest import BucketFile
from crawl.storage.segments import GENERATE, PartFile, PartManifest, committed_note
from crawl.testing.clock import ManualClock
from tests.storage.conftest import Lives
from tests.storage.crashing import Crash, crashing

NOW = 1_794_735_000_000
CONFIG = Config.of({})
SEGMENT = "20261115093000"


def inject(directory: CrawlDir) -> None:
    with directory.writing_crawldb("inject", CONFIG, ManualClock(NOW)) as transaction:
        path = f"{transaction.place}/part-00000-x.parquet"
        transaction.folder.write(path, b"rows")
        transaction.publish(
            [BucketFile(0, path, 1, 4)], Report("inject", NOW, ""), buckets=1, keep=3
        )


def generate(directory: CrawlDir) -> None:
    """The order of writes that generate has: lists, snapshot with its note, done-mark."""
    with directory.writing_crawldb("generate", CONFIG, ManualClock(NOW)) as transaction:
        directory.segments.sweep_unfinished()
        assert transaction.base is not None
        (name,) = directory.segments.new_names(NOW, 1)
        segment = directory.segments.segment(name)
        segment.part_folder(GENERATE).write("part-00000-y.parquet", b"list")
        manifest = PartManifest((PartFile(0, "part-00000-y.parquet", 1, 4),), NOW)
        transaction.publish(
            transaction.base.files,
            Report("generate", NOW, ""),
            buckets=1,
            keep=3,
            notes=committed_note([(name, manifest)]),
        )
        segment.publish(GENERATE, manifest)


def test_without_a_crawldb_one_line_says_how_to_get_one(place: Folder) -> None:
    with pytest.raises(NoSnapshot, match=f"crawl inject {place.address} SEEDS"):
        CrawlDir(place.address).require_crawldb()


def test_the_parts_of_a_crawl(place: Folder) -> None:
    directory = CrawlDir(place.address)
    inject(directory)
    assert directory.address == place.address
    assert directory.require_crawldb().rows == 1
    assert place.exists("crawldb/CURRENT")
    generate(directory)
    assert place.exists(f"segments/{SEGMENT}/crawl_generate/manifest.json")


def test_force_is_passed_on(place: Folder) -> None:
    directory = CrawlDir(place.address)
    with directory.writing_crawldb("first", CONFIG, ManualClock(NOW)) as first:
        with (
            pytest.raises(Locked, match="first by"),
            directory.writing_crawldb("second", CONFIG, ManualClock(NOW)),
        ):
            pass
        with directory.writing_crawldb(
            "second", CONFIG, ManualClock(NOW), steal_lock=True
        ) as second:
            assert second.lock.took_over
        with pytest.raises(Locked):
            first.lock.verify()


@pytest.mark.parametrize("place", ["file", "memory"], indirect=True)  # where a write can tear
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_generate_killed_at_any_change_is_whole_or_nothing(
    place: Folder, lives: Lives, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """The mark in the CrawlDb and the segment stand or fall together."""
    at = 0
    finished = False
    outcomes = set()
    while not finished:
        at += 1
        directory = CrawlDir(place.child(str(at)).address)
        inject(directory)
        with crashing(monkeypatch, at, share) as fuse:
            try:
                generate(directory)
                finished = not fuse.burnt
            except Crash:
                pass
        lives.end()
        with directory.writing_crawldb("gc", CONFIG, ManualClock(NOW)):
            directory.segments.sweep_unfinished()
        committed = directory.require_crawldb().phase == "generate"
        outcomes.add(committed)
        found = directory.segments.generated()
        assert [segment.name for segment in found] == ([SEGMENT] if committed else [])
        for segment in found:
            (file,) = segment.require(GENERATE).files
            assert segment.part_folder(GENERATE).read(file.path) == b"list"
        if not committed:
            assert directory.segments.folder.files() == {}
        directory.folder.delete("")
    assert outcomes == {False, True}


def test_a_folder_that_may_not_be_written_is_reported_in_one_line(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    directory = CrawlDir(str(closed / "crawl"))
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)  # root may write anywhere, so be nobody for a moment
    try:
        with pytest.raises(StorageError, match=r"\.writable: permission denied$"):
            directory.require_writable()
    finally:
        if is_root:
            os.seteuid(0)
    closed.chmod(0o755)
    directory.require_writable()
    assert list((closed / "crawl").iterdir()) == []


def test_locks_of_the_dead_are_removed_and_those_of_the_living_are_not(
    place: Folder, lives: Lives
) -> None:
    directory, clock = CrawlDir(place.address), ManualClock(NOW)
    segment = directory.segments.segment(SEGMENT)
    for folder in (directory.fetching_folder, segment.folder):
        acquire(folder, "fetch", clock, stale_after_ms=1e9)
    directory.remove_dead_locks([segment], "updatedb", CONFIG, clock)
    assert len(directory.folder.files()) == 2
    lives.end()
    directory.remove_dead_locks([segment], "updatedb", CONFIG, clock)
    assert directory.folder.files() == {}
