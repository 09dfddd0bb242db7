"""Files by which Prometheus finds running commands (file_sd_configs), and forgets them."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crawl.errors import EnvironmentFault
from crawl.telemetry.settings import METRICS_DISCOVERY, Settings

_FORGOTTEN_AFTER_S = 3600.0
"""A running command touches its file every few seconds."""


@contextmanager
def announced(address: str, settings: Settings) -> Iterator[Callable[[], None]]:
    """A file that Prometheus reads as soon as it is there, and forgets when it is gone; yields
    what keeps it young."""
    folder, node = Path(settings.discovery), socket.gethostname()
    path = folder / f"nutria-{file_name_of(node)}-{os.getpid()}.json"
    new = path.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _forget_the_dead(folder, node)
        new.write_text(json.dumps([{"targets": [address], "labels": {}}]) + "\n")
        new.replace(path)
    except OSError as error:
        raise EnvironmentFault(
            f"{METRICS_DISCOVERY.name}: cannot write {path}: {error.strerror}"
        ) from error

    def touch() -> None:
        with suppress(OSError):
            path.touch()

    try:
        yield touch
    finally:
        path.unlink(missing_ok=True)


def _forget_the_dead(folder: Path, node: str) -> None:
    """Files of commands that were killed: of this machine, or of one that is gone."""
    probe = folder / f".nutria-{file_name_of(node)}-{os.getpid()}"
    probe.touch()
    now = probe.stat().st_mtime  # by the clock of whoever holds the folder
    probe.unlink()
    for path in folder.glob("nutria-*.json"):
        with suppress(OSError):  # others look through the folder too
            is_ours = path.stem.startswith(f"nutria-{file_name_of(node)}-")
            number = path.stem.rpartition("-")[2]
            is_dead = is_ours and number.isdigit() and not _is_alive(int(number))
            if is_dead or now - path.stat().st_mtime > _FORGOTTEN_AFTER_S:
                path.unlink(missing_ok=True)


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def file_name_of(name: str) -> str:
    """Fit for a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", name) or "_"
