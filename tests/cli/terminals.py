"""Progress of an operation as a terminal shows it."""

from __future__ import annotations

from contextlib import AbstractContextManager

from crawl.cli.terminal import TerminalObserver
from crawl.config import Config
from crawl.operations.events import Look
from crawl.operations.work import Work
from crawl.spark.engine import SparkEngine
from crawl.spark.runners import SparkOptions


def showing(step: str, look: Look, *, quiet: bool = False) -> AbstractContextManager[None]:
    """Shows how far a step is while the block runs."""
    config = Config.of({})
    engine = SparkEngine(config, SparkOptions(None, quiet))
    return Work(step, config, engine, observer=TerminalObserver(quiet=quiet)).showing(step, look)
