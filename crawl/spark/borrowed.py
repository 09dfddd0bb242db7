"""A Spark session that somebody else has opened: a notebook's, a platform's.

It has none of our settings, and its executors may have none of our code. What lacks is told at
the start, in one line each, and not by whatever fails an hour later.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.spark.code_archive import code_archives
from crawl.spark.faults import reported_faults
from crawl.spark.job_properties import job_group, new_group
from crawl.spark.needs import refuse_wrong, remarks_on, remarks_on_unused, tell
from crawl.version import __version__

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_PACKAGES = ("numpy", "pyarrow")
"""What every task imports beside our own code."""

_remarks: WeakKeyDictionary[SparkContext, set[str]] = WeakKeyDictionary()
"""The remarks made on each session whose executors were looked at: each line once."""


def check_borrowed(spark: SparkSession, config: Config) -> None:
    """Raises ConfigError where the session cannot be used, and logs what makes it slow, once.
    Executors without our code are sent it."""
    value_of = partial(_value_of, spark)
    refuse_wrong(value_of)
    context = spark.sparkContext
    if context not in _remarks:
        _provide_code(spark, config)
        _remarks[context] = set()
    remarks = remarks_on(value_of) + remarks_on_unused(config.spark_settings(), value_of)
    tell([remark for remark in remarks if remark not in _remarks[context]])
    _remarks[context].update(remarks)


def _value_of(spark: SparkSession, key: str) -> str | None:
    """The value of a setting, of SQL's at this moment."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    if not key.startswith("spark.sql."):
        return spark.sparkContext.getConf().get(key, None)
    try:
        return str(spark.conf.get(key))
    except (PySparkException, Py4JError):
        return None  # not known to this Spark


def _provide_code(spark: SparkSession, config: Config) -> None:
    versions = _versions_on_executor(spark)
    for package in _PACKAGES:
        if versions[package] is None:
            raise ConfigError(
                f"executors of this Spark session run {versions['python']}, which has no {package}:"
                " start the session with PYSPARK_PYTHON (spark.pyspark.python) naming one that has"
            )
    theirs = versions["crawl"]
    if theirs is None:
        for archive in code_archives(config):
            spark.sparkContext.addPyFile(str(archive))
    elif theirs != __version__:
        raise ConfigError(
            f"executors of this Spark session have crawl {theirs or 'of another package'}, the"
            f" driver {__version__}: install the same on both"
        )


def _versions_on_executor(spark: SparkSession) -> Mapping[str, str | None]:
    """The packages that a task finds, None for one that lacks; and the Python that runs it."""
    context = spark.sparkContext
    look = _sent_as_code(_versions)
    asked = context.parallelize([("crawl", *_PACKAGES)], 1).mapPartitions(look)
    step = "look at an executor"
    with reported_faults(spark, step), job_group(context, new_group(step), step):
        (versions,) = asked.collect()
    return dict(versions)


def _versions(asked: Iterable[tuple[str, ...]]) -> list[dict[str, str | None]]:
    """Runs in the worker, where there may be nothing of ours."""
    import sys
    from importlib import import_module

    versions: dict[str, str | None] = {"python": sys.executable}
    for names in asked:
        for name in names:
            try:
                versions[name] = str(getattr(import_module(name), "__version__", ""))
            except ImportError:
                versions[name] = None
    return [versions]


def _sent_as_code(function: Any) -> Callable[..., Any]:
    """The function as one that is sent with its code: of a module's only the name is, for which the
    module must be there."""
    copy = FunctionType(function.__code__, {"__builtins__": builtins}, function.__name__)
    copy.__module__ = "__main__"
    return copy
