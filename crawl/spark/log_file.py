"""One log file a run, for what Spark and the JVM have to say; only the newest are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crawl.clock import Clock, as_segment_name
from crawl.errors import EnvironmentFault
from crawl.spark.user_folders import scratch_folder, state_folder

MAX_LOG_FILES = 20

_PATTERN = "crawl-*.log"


def new_log_file(clock: Clock, environment: Mapping[str, str] = os.environ) -> Path:
    """An empty log file in CRAWL_LOG_DIR, else in the user's state folder.

    A folder that the user named must be writable; the default one gives way to the
    temporary folder, because a crawl must not fail for want of a log.
    """
    named = environment.get("CRAWL_LOG_DIR")
    if named:
        try:
            return _made_in(Path(named).expanduser(), clock)
        except OSError as error:
            raise EnvironmentFault(
                f"cannot write a log in CRAWL_LOG_DIR={named}: {error.strerror}"
            ) from error
    try:
        return _made_in(state_folder(environment) / "logs", clock)
    except OSError:
        return _made_in(scratch_folder() / "logs", clock)


def _made_in(folder: Path, clock: Clock) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"crawl-{as_segment_name(clock.now_ms())}-{os.getpid()}.log"
    path.touch()
    _prune(folder, keep=path)
    return path


def _prune(folder: Path, *, keep: Path) -> None:
    """Names begin with the time, so the order of names is the order of age."""
    others = sorted((path for path in folder.glob(_PATTERN) if path != keep), reverse=True)
    for path in others[MAX_LOG_FILES - 1 :]:
        # Another run may be pruning too.
        path.unlink(missing_ok=True)
