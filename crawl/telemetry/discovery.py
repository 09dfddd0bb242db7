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
from crawl.processes import process_lives
from crawl.telemetry.settings import METRICS_DISCOVERY, Settings

_FORGOTTEN_AFTER_S = 3600.0
"""A running command touches its file every few seconds."""


@contextmanager
def announced(address: str, settings: Settings) -> Iterator[Callable[[], None]]:
    """Writes a file by which Prometheus finds this command, and deletes it at the end; yields a
    function to call now and then, which keeps the file from being taken for a dead command's."""
    folder, node = Path(settings.discovery), socket.gethostname()
    path = folder / f"nutria-{file_name_of(node)}-{os.getpid()}.json"
    new = path.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _delete_stale(folder, node)
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


def _delete_stale(folder: Path, node: str) -> None:
    """Deletes the files of commands that were killed, here or on a machine that is gone."""
    probe = folder / f".nutria-{file_name_of(node)}-{os.getpid()}"
    probe.touch()
    now = probe.stat().st_mtime  # by the clock of whoever holds the folder
    probe.unlink()
    for path in folder.glob("nutria-*.json"):
        with suppress(OSError):  # others look through the folder too
            is_ours = path.stem.startswith(f"nutria-{file_name_of(node)}-")
            number = path.stem.rpartition("-")[2]
            is_dead = is_ours and number.isdigit() and not process_lives(int(number))
            if is_dead or now - path.stat().st_mtime > _FORGOTTEN_AFTER_S:
                path.unlink(missing_ok=True)


def file_name_of(name: str) -> str:
    """Fit for a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", name) or "_"
