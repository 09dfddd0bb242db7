"""Logs as JSON: one object a line on stderr, with the place in the crawl. stdout stays the
commands' own.

Under `log.format=text`, the default, nothing is set up but that what Python's own handler of
last resort prints is escaped: a warning may repeat what a server said.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from crawl.masking import masked_text
from crawl.printable import json_text, printable_lines
from crawl.telemetry.context import current_context

_active: logging.Handler | None = None
_level_before = logging.WARNING


def is_json() -> bool:
    """Whether lines for people have to be logged instead of printed."""
    return _active is not None


def json_requested(arguments: Sequence[str]) -> bool:
    """Whether a command line, of which nothing else is known yet, asks for JSON."""
    return any(
        word in ("--log-format=json", "-Dlog.format=json")
        or (word, *arguments[place + 1 : place + 2]) in _JSON_OPTIONS
        for place, word in enumerate(arguments)
    )


_JSON_OPTIONS = (("--log-format", "json"), ("-D", "log.format=json"))


def use_json(level: str = "info", role: str = "driver") -> None:
    """From here on everything that is logged in this process goes to stderr as JSON."""
    global _active, _level_before
    root = logging.getLogger()
    if _active is None:
        _level_before = root.level
        _active = _Stderr()
        _active.setFormatter(JsonLines(role))
        root.addHandler(_active)
        logging.captureWarnings(True)
    root.setLevel(level.upper())
    # these say at `info` what every call on the wire was
    for chatty in ("py4j", "urllib3", "botocore", "s3transfer", "asyncio", "fsspec", "s3fs"):
        logging.getLogger(chatty).setLevel(
            max(logging.WARNING, logging.getLevelName(level.upper()))
        )


def escape_text() -> None:
    """From here on lines for people that nobody set up a handler for are safe to look at."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(PrintableLines())


class PrintableLines(logging.Formatter):
    """As Python formats it, with what a terminal would obey escaped and without what
    looks like a password."""

    def format(self, record: logging.LogRecord) -> str:
        return printable_lines(masked_text(super().format(record)))


def use_text() -> None:
    """As it was before."""
    global _active
    if _active is None:
        return
    root = logging.getLogger()
    root.removeHandler(_active)
    root.setLevel(_level_before)
    logging.captureWarnings(False)
    _active = None


class _Stderr(logging.StreamHandler[Any]):
    """To whatever stderr is at the moment."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        raise AttributeError("it is stderr")


class JsonLines(logging.Formatter):
    """time, level, logger, message, then where it was and what went wrong."""

    def __init__(self, role: str = "driver") -> None:
        super().__init__()
        self._process = {"role": role, "node": socket.gethostname(), "pid": os.getpid()}

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, tz=UTC)
        line: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **current_context().as_dict(),
            **self._process,
            "thread": record.threadName,
        }
        line |= getattr(record, "fields", None) or {}
        line |= _span_of(record)
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = {
                "type": record.exc_info[0].__name__,
                "message": str(record.exc_info[1]),
                "stack": self.formatException(record.exc_info),
            }
        # ASCII: no terminal and no shipper has to guess, and no U+2028 ends a line
        return masked_text(json_text(line, ascii_only=True))


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # somebody's format string and arguments do not fit
        return f"{record.msg} {record.args}"


def _span_of(record: logging.LogRecord) -> dict[str, str]:
    """The span that the line belongs to, where there are any."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
