"""Where a user's own files go (the XDG base folders): caches and logs."""

from __future__ import annotations

import getpass
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
    """For a user whose home cannot be written; named by user, so that no two share one."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return Path(tempfile.gettempdir()) / f"{APPLICATION}-{user}"


def _base(environment: Mapping[str, str], variable: str, under_home: str) -> Path:
    named = environment.get(variable, "")
    # The standard says that a relative path is to be ignored.
    if named.startswith("/"):
        return Path(named)
    return Path(environment.get("HOME") or tempfile.gettempdir()) / under_home
