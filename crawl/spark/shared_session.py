"""The one Spark session of this process, for all crawls that it has open.

A process can have one. So the first user opens it, others that want the same settings share it,
and the last one stops it; one that somebody else has opened is used and left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.spark.borrowed import check_borrowed
from crawl.spark.code_archive import send_missing
from crawl.spark.jvm_death import deaths_ignored, forget_dead_jvm
from crawl.spark.master import check_master, is_local
from crawl.spark.session import OPENING, current_session, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASTER = "spark.master"


@dataclass(slots=True, eq=False)
class _Shared:
    """A session that was opened here."""

    spark: SparkSession
    settings: Mapping[str, str]
    """What the first user asked for."""
    users: int = 0


_shared: _Shared | None = None


@contextmanager
def shared_session(name: str, config: Config, master: str | None) -> Iterator[SparkSession]:
    """The session for a block of work; the first user's arguments are `open_session`'s. ConfigError
    where another user has it open with other settings, or where a session that somebody else has
    opened cannot be used."""
    spark, shared = _take(name, config, master)
    try:
        yield spark
    finally:
        if shared is not None:
            _give_back(shared)


def _take(name: str, config: Config, master: str | None) -> tuple[SparkSession, _Shared | None]:
    global _shared
    settings = _settings_of(config, master)
    with OPENING:
        if _shared is not None and not _is_alive(_shared.spark):
            _stop(_shared.spark)
            _shared = None
        if _shared is not None:
            _require_same(settings, _shared.settings)
            send_missing(_shared.spark.sparkContext, config)
            _shared.users += 1
            return _shared.spark, _shared
        borrowed = current_session()
        if borrowed is not None:
            check_borrowed(borrowed, config)
            return borrowed, None
        _shared = _Shared(open_session(name, config, master=master), settings, users=1)
        return _shared.spark, _shared


def _give_back(shared: _Shared) -> None:
    global _shared
    with OPENING:
        shared.users -= 1
        if shared is _shared and (shared.users == 0 or not _is_alive(shared.spark)):
            _shared = None
            _stop(shared.spark)


def _settings_of(config: Config, master: str | None) -> dict[str, str]:
    """The settings as somebody asks for them, with one way to write a local master."""
    settings = config.spark_settings()
    named = "".join((master or settings.get(_MASTER) or "local[*]").split())
    return {**settings, _MASTER: check_master(named) if is_local(named) else named}


def _require_same(settings: Mapping[str, str], others: Mapping[str, str]) -> None:
    for key in sorted({*settings, *others}):
        if settings.get(key) != others.get(key):
            # no values: they may be passwords
            raise ConfigError(
                f"{key} differs from that of another crawl which this process has open: they share"
                " one Spark session; give both the same, or close the other"
            )


def is_stopped(spark: SparkSession) -> bool:
    """Whether somebody has stopped the session, as anybody may."""
    return spark.sparkContext._jsc is None


def _is_alive(spark: SparkSession) -> bool:
    """Whether nobody has stopped the session, and its JVM runs; one that was not started here is
    taken to."""
    context: Any = spark.sparkContext
    process = getattr(getattr(context, "_gateway", None), "proc", None)
    return not is_stopped(spark) and (process is None or process.poll() is None)


def _stop(spark: SparkSession) -> None:
    """Stops the session. Where its JVM died, pyspark is told to forget it: it would give it to
    the next session of this process."""
    if is_stopped(spark):
        return  # somebody else was quicker
    with deaths_ignored():
        spark.stop()
    forget_dead_jvm()
