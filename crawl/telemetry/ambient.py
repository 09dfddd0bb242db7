"""What is switched on in this process. Ambient, as logging is: whoever has something to tell
tells it, and need not be handed a listener down every floor.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from crawl.config import Config
from crawl.errors import EnvironmentFault, NothingToDo
from crawl.telemetry import logs
from crawl.telemetry.context import CrawlContext, current_context, process_context
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import BUILD, COMMAND_RUNNING
from crawl.telemetry.settings import Settings
from crawl.telemetry.tracing import Span, Tracing, traceparent
from crawl.version import __version__

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Ambient:
    settings: Settings
    meter: Meter | None = None
    tracing: Tracing | None = None
    scrape_address: str = ""


_OFF = _Ambient(Settings())
_now = _OFF


def settings() -> Settings:
    """The settings of this process; all off where nothing was switched on."""
    return _now.settings


def meter() -> Meter | None:
    """Where figures go; None where nobody wants any."""
    return _now.meter


def scrape_address() -> str:
    """The URL that Prometheus can ask; empty where it cannot."""
    return _now.scrape_address


def tracing() -> Tracing | None:
    return _now.tracing


def current_traceparent() -> str:
    """The traceparent that a worker's span goes below; empty where nothing is traced."""
    return traceparent() if _now.tracing is not None else ""


@contextmanager
def span(name: str, *, parent: str = "", **attributes: object) -> Iterator[Span]:
    """A span around the block; it fails with what the block raises."""
    if _now.tracing is None:
        yield Span()
        return
    context = {**current_context().as_dict(), **attributes}
    with _now.tracing.span(name, parent, context) as opened:
        try:
            yield opened
        except NothingToDo as outcome:
            opened.set(outcome=str(outcome))
            raise
        except BaseException as error:
            opened.fail(error)
            raise


@contextmanager
def observed_command(config: Config, command: str, crawl: str) -> Iterator[None]:
    """Around a whole command, in the driver."""
    global _now
    options = Settings.of(config)
    place = CrawlContext(command=command, crawl=crawl)
    with ExitStack() as stack:
        stack.enter_context(process_context(place))
        if options.log_json:
            logs.use_json(options.log_level)
        else:
            logs.use_text()
        if not options.is_on:
            yield
            return
        ambient, before = _Ambient(options), _now
        if options.traces:
            ambient.tracing = Tracing(options, "driver")
            stack.callback(ambient.tracing.close)
        if options.measures:
            from crawl.telemetry.prometheus import exported

            label = options.crawl_label or crawl_name(crawl) or command
            ambient.meter = Meter()
            ambient.meter.set(BUILD, 1, version=__version__)
            ambient.meter.set(COMMAND_RUNNING, 1, command=command)
            ambient.scrape_address = stack.enter_context(
                exported(ambient.meter, options, label, command)
            )
        _now = ambient
        stack.callback(_set, before)
        try:
            with span(f"crawl {command}", parent=os.environ.get("TRACEPARENT", "")):
                yield
        finally:
            if ambient.meter is not None:
                ambient.meter.set(COMMAND_RUNNING, 0, command=command)


def _set(ambient: _Ambient) -> None:
    global _now
    _now = ambient


def open_worker(options: Settings) -> None:
    """In a worker's process, before its first task; what cannot be opened is left out: a task
    must not fail for it."""
    global _now
    if _now.settings == options:
        return
    if _now.tracing is not None:
        _now.tracing.close()  # of another application, which had this process before
    _now = _Ambient(options)
    if options.log_json:
        logs.use_json(options.log_level, "worker")
    if options.traces:
        try:
            _now.tracing = Tracing(options, "worker")
        except EnvironmentFault as missing:
            _log.warning("this worker sends no spans: %s", missing)


def crawl_name(crawl: str) -> str:
    """A crawl's folder without the way to it."""
    return crawl.rstrip("/").rpartition("/")[2]
