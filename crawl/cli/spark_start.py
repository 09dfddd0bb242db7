"""Announces that Spark is starting, which takes seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from crawl.cli.output import remark
from crawl.telemetry import logs

MESSAGE = "Spark is starting …"
_PATIENCE_SECONDS = 3.0
"""A start that is shorter than this needs no line in a log."""
_ERASED = "\r\x1b[K"


@contextmanager
def spark_is_starting(*, quiet: bool, stream: TextIO | None = None) -> Iterator[None]:
    """Shows it while the block runs: on a terminal at once, and gone at the end; elsewhere as
    a plain line, where it takes long."""
    stream = sys.stderr if stream is None else stream
    if quiet:
        yield
    elif stream.isatty() and not logs.is_json():
        # no thread that redraws it: the JVM is forked off in the meantime
        print(MESSAGE, end="", file=stream, flush=True)
        try:
            yield
        finally:
            print(_ERASED, end="", file=stream, flush=True)
    else:
        later = threading.Timer(_PATIENCE_SECONDS, remark, [MESSAGE])
        later.daemon = True
        later.start()
        try:
            yield
        finally:
            later.cancel()
