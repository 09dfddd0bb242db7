"""Jars of servers that tests start: fetched once by Maven, kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from crawl.spark.user_folders import cache_folder
from tests.debian import installed

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_COPY = f"{_PLUGIN}:copy"


def fetched(group: str, artefact: str, version: str) -> Path:
    """The jar alone, without what it depends on."""
    kept = cache_folder() / f"{artefact}-{version}.jar"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as there:
        done = subprocess.run(
            [
                *(installed("mvn", "maven"), "-q", "-B", _COPY, f"-DoutputDirectory={there}"),
                f"-Dartifact={group}:{artefact}:{version}",
            ],
            cwd=there,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, f"Maven could not fetch {artefact}: {done.stdout[-1000:]}"
        (Path(there) / kept.name).replace(kept)
    return kept


def fetched_with_dependencies(*dependencies: str, without: Sequence[str] = ()) -> Path:
    """A folder with the jars `GROUP:ARTEFACT:VERSION` and all that they need at run time, but for
    those `without` (`GROUP:ARTEFACT`) that they would bring along."""
    pom = _pom(dependencies, without)
    name = dependencies[0].replace(":", "-")
    kept = cache_folder() / f"{name}-{hashlib.sha256(pom.encode()).hexdigest()[:8]}"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as there:
        (Path(there) / "pom.xml").write_text(pom)
        done = subprocess.run(
            [
                *(installed("mvn", "maven"), "-q", "-B", f"{_PLUGIN}:copy-dependencies"),
                *("-DoutputDirectory=lib", "-DincludeScope=runtime"),
            ],
            cwd=there,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, f"Maven could not fetch {name}: {done.stdout[-1000:]}"
        with suppress(OSError):  # another test was quicker
            (Path(there) / "lib").replace(kept)
    return kept


def _pom(dependencies: Sequence[str], without: Sequence[str]) -> str:
    def element(text: str, *names: str) -> str:
        values = zip(names, text.split(":"), strict=True)
        return "".join(f"<{name}>{value}</{name}>" for name, value in values)

    left_out = "".join(
        f"<exclusion>{element(each, 'groupId', 'artifactId')}</exclusion>" for each in without
    )
    wanted = "".join(
        f"<dependency>{element(each, 'groupId', 'artifactId', 'version')}"
        f"<exclusions>{left_out}</exclusions></dependency>"
        for each in dependencies
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>tests</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{wanted}</dependencies></project>"
    )
