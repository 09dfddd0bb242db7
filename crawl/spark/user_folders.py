"""Where a user's own files go (the XDG base folders): caches and logs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

APPLICATION = "nutria"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """For what can be made again; need not exist."""
    return _base(environment, "XDG_CACHE_HOME", ".cache") / APPLICATION


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """For logs; need not exist."""
    return _base(environment, "XDG_STATE_HOME", ".local/state") / APPLICATION


def scratch_folder() -> Path:
    """For a user whose home cannot be written: made here, nobody else's; else OSError."""
    folder = Path(tempfile.gettempdir()) / f"{APPLICATION}-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    # Anybody may make a folder in the common one, also under our name with a trap in it.
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to somebody else")
    return folder


def _base(environment: Mapping[str, str], variable: str, under_home: str) -> Path:
    named = environment.get(variable, "")
    # The standard says that a relative path is to be ignored.
    if named.startswith("/"):
        return Path(named)
    return Path(environment.get("HOME") or tempfile.gettempdir()) / under_home
