"""What of this process pyspark reads or changes when a session starts, kept as it was.

All of it is the process's: whoever uses it holds the lock of crawl/spark/session.py.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def changed_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables that the JVM and pyspark read at start; the process's own come back after."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _not_from_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Keeps Ctrl-C as it was: pyspark's handler fails once its session is stopped, and
    whoever runs tasks here cancels them itself."""
    # On Ctrl-C py4j logs a traceback, to the root logger and so to the terminal; and on a
    # second one to its own, whose records no filter of the root logger sees.
    logging.getLogger().addFilter(_not_from_py4j)
    logging.getLogger("py4j").propagate = False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
