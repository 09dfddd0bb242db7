"""A class-data-sharing archive: a JVM that has loaded Spark once need not do it again.

The first run on a machine lets its JVM write one as it exits, waits for that and says so
(jvm_process.py); later runs start in half the time. It lies in the user's cache folder, named by
all it depends on. Nothing here can fail a run: without an archive Spark only starts more slowly,
and one that a JVM will not start with is thrown away.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from crawl.clock import Clock
from crawl.processes import process_lives
from crawl.spark.java import Java
from crawl.spark.user_folders import cache_folder

MAX_ARCHIVES = 2
"""Archives, of 150 MB each, for different Javas or Sparks."""

_MAGIC = 0xF00BABA8.to_bytes(4, sys.byteorder)
"""How a JVM begins an archive; it writes these bytes last, so that they vouch for the rest."""

MIN_BYTES = 40_000_000
"""A JVM that ended before Spark was up leaves an archive that is whole and of no use: one of
Spark has more than 100 MB."""

_DRAFT_LIFE_MS = 30 * 60 * 1000
"""A draft still without them after so long is taken for a dead JVM's."""

_FINISHED_LIFE_MS = 7 * 24 * 60 * 60 * 1000
"""So long a finished one is kept for the next run of the same Spark, which will use it."""

_ORPHAN_LIFE_MS = 3 * 60 * 1000
"""So long a draft is waited for whose run has ended: its JVM may be writing it."""

_CLASS_PATH_VARIABLES = ("SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Each may put a folder on the class path, and a JVM cannot archive from folders."""


def archive_options(
    java: Java,
    jars: Path,
    jvm_options: list[str],
    clock: Clock,
    environment: Mapping[str, str] = os.environ,
) -> list[str]:
    """The JVM options that use the archive, or those that make it, or none.

    `jars` is Spark's folder of them, `jvm_options` what else the JVM is told: an archive
    serves only the same of both.
    """
    if any(environment.get(name) for name in _CLASS_PATH_VARIABLES):
        return []
    # An archive of ours builds on the one a Java comes with; the wheel's comes without.
    if not (java.home / "lib" / "server" / "classes.jsa").exists():
        return []
    folder = cache_folder(environment) / "class-archives"
    try:
        name = _name(java, jars, jvm_options)
        folder.mkdir(parents=True, exist_ok=True)
        archive = _usable(folder, name) or _adopted(folder, name, clock)
        if archive is not None:
            return [f"-XX:SharedArchiveFile={archive}", *_QUIET]
        if any(_is_awaited(draft, clock) for draft in folder.glob(f"{name}.*.draft")):
            return []
        draft = folder / f"{name}.{os.getpid()}.draft"
        # Tells other runs that one is being made; the JVM replaces it.
        draft.touch()
        return [f"-XX:ArchiveClassesAtExit={draft}", *_QUIET]
    except OSError:
        return []


_QUIET = ("-Xlog:cds=error", "-Xlog:cds+dynamic=error")
"""Making an archive means a warning for each of a thousand classes that cannot be in it."""


def forget_archive(options: list[str]) -> bool:
    """Throws away the archive that `options` use; whether they used one."""
    for option in options:
        _, option_name, path = option.partition("-XX:SharedArchiveFile=")
        if option_name:
            Path(path).unlink(missing_ok=True)
            return True
    return False


def _name(java: Java, jars: Path, jvm_options: list[str]) -> str:
    """Spark's jars and the Java are told apart by place, age and size, not by version only."""
    parts = [str(java.home), str(java.version), str(jars), *jvm_options]
    for path in (java.home / "release", java.home / "bin" / "java", *jars.glob("spark-core_*")):
        if path.exists():
            facts = path.stat()
            parts.append(f"{path.name} {facts.st_size} {facts.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _usable(folder: Path, name: str) -> Path | None:
    """The archive of that name. Its length is part of the file's name, because a JVM that is
    given a shortened archive does not refuse it but dies."""
    for archive in folder.glob(f"{name}.*.jsa"):
        is_named_so = archive.name == _final_name(name, archive)
        if is_named_so and _is_whole(archive) and not _is_of_no_use(archive):
            os.utime(archive)
            return archive
        archive.unlink(missing_ok=True)
    return None


def _final_name(name: str, archive: Path) -> str:
    return f"{name}.{archive.stat().st_size}.jsa"


def _is_whole(archive: Path) -> bool:
    with archive.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _is_of_no_use(archive: Path) -> bool:
    return archive.stat().st_size < MIN_BYTES


def _is_awaited(draft: Path, clock: Clock) -> bool:
    """Whether a JVM may still finish it: that of a run that goes on, or has just ended."""
    age_ms = _age_ms(draft, clock)
    if age_ms < _ORPHAN_LIFE_MS:
        return True
    maker = draft.name.split(".")[1]
    return age_ms < _DRAFT_LIFE_MS and maker.isdecimal() and process_lives(int(maker))


def _age_ms(draft: Path, clock: Clock) -> int:
    return clock.now_ms() - draft.stat().st_mtime_ns // 1_000_000


def _adopted(folder: Path, name: str, clock: Clock) -> Path | None:
    """The finished draft of an earlier run under its final name; dead drafts are removed."""
    archive: Path | None = None
    for draft in folder.glob(f"{name}.*.draft"):
        try:
            if not _is_whole(draft):
                continue
            if _is_of_no_use(draft):
                draft.unlink()
            else:
                archive = draft.replace(folder / _final_name(name, draft))
        except FileNotFoundError:
            # Another run adopted it in this moment.
            continue
    _prune(folder, clock)
    return archive


def _prune(folder: Path, clock: Clock) -> None:
    """Removes all but the archives used last, and drafts that nobody will finish or use."""
    archives = sorted(folder.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for archive in archives[MAX_ARCHIVES:]:
        archive.unlink(missing_ok=True)
    for draft in folder.glob("*.draft"):
        life_ms = _FINISHED_LIFE_MS if _is_whole(draft) else _DRAFT_LIFE_MS
        if _age_ms(draft, clock) > life_ms:
            draft.unlink(missing_ok=True)
