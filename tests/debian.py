"""Programs of Debian's packages that tests start; installed where they are missing and may be."""

from __future__ import annotations

import os
import shutil
import subprocess


def installed(program: str, package: str) -> str:
    """The path of the program."""
    found = _path_of(program)
    if found is None and os.getuid() == 0 and shutil.which("apt-get"):
        # Nothing is to start by itself: a server's package starts it otherwise.
        environment = {**os.environ, "RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["apt-get", "update", "-qq"],
            ["apt-get", "install", "-qq", "-y", "--no-install-recommends", package],
        ):
            subprocess.run(command, capture_output=True, timeout=900, env=environment)
        found = _path_of(program)
    assert found, f"tests need {program}: install it (apt-get install {package})"
    return found


def _path_of(program: str) -> str | None:
    # the folders of system programs are on no ordinary user's path
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
