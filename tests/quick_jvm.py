"""What lets a JVM of a test start with half the work: none lives long enough for more.

`python -m tests.quick_jvm` makes the archive of Spark's classes before tests begin: whichever of
them starts a JVM first may kill it, too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from crawl.clock import SystemClock
from crawl.spark.class_archive import archive_options
from crawl.spark.java import find_java
from crawl.spark.session import QUICK_JVM

_MAKES = "-XX:ArchiveClassesAtExit="
_PATIENCE_S = 600.0


@cache
def quick_jvm() -> str:
    """The options, as Spark's settings and variables take them."""
    options, _ = _archive()
    return " ".join([*QUICK_JVM, *options])


def _archive() -> tuple[list[str], bool]:
    """The options that use the archive, none where there is none; and whether one could be made
    now: not where Java cannot, or where a JVM is at it."""
    jars = Path(_find_spark_home()) / "jars"
    options = archive_options(find_java(), jars, QUICK_JVM, SystemClock())
    if not options or not options[0].startswith(_MAKES):
        return options, False
    # it was asked whether there is one, and not to make it
    Path(options[0].removeprefix(_MAKES)).unlink()
    return [], True


def _make() -> None:
    """A command runs; its JVM writes the archive when it is done."""
    deadline = time.monotonic() + _PATIENCE_S
    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder, "seeds.txt")
        seeds.write_text("http://example.org/\n")
        command = [sys.executable, "-m", "crawl", "inject", f"{folder}/crawl", str(seeds)]
        subprocess.run(command, check=True, capture_output=True)
    options, can_be_made = _archive()
    while not options and not can_be_made and time.monotonic() < deadline:
        time.sleep(1)
        options, can_be_made = _archive()
    if not options:
        print("there is no archive of Spark's classes: JVMs start slowly", file=sys.stderr)


if __name__ == "__main__":
    _, is_missing = _archive()
    if is_missing:
        _make()
