"""Jars of servers that tests start: fetched once by Maven, kept in the user's cache folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from crawl.spark.user_folders import cache_folder

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


def fetched(group: str, artefact: str, version: str) -> Path:
    """The jar alone, without what it depends on."""
    kept = cache_folder() / f"{artefact}-{version}.jar"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as there:
        done = subprocess.run(
            [
                *(_maven(), "-q", "-B", _COPY, f"-DoutputDirectory={there}"),
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


def _maven() -> str:
    found = shutil.which("mvn")
    if found is None and os.getuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True, timeout=600)
        install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", "maven"]
        subprocess.run(install, capture_output=True, timeout=900)
        found = shutil.which("mvn")
    assert found, "the tests of Hadoop fetch it by Maven: install one (apt-get install maven)"
    return found
