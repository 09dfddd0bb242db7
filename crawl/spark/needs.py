"""What a crawl needs of a Spark session, whoever has set it up: what is needed, or the session is
refused, and what is merely slower without, which is remarked on.

Our own sessions are set up so (crawl/spark/session.py). A notebook's or a platform's is not, and
spark-submit's options and the user's `spark.*` properties win over ours.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from crawl.errors import ConfigError
from crawl.spark.master import is_local

_log = logging.getLogger(__name__)

KRYO = "org.apache.spark.serializer.KryoSerializer"
SPECULATION = "spark.speculation"
SERIALIZER = "spark.serializer"
BYPASS_MERGE = "spark.shuffle.sort.bypassMergeThreshold"
WORKER_REUSE = "spark.python.worker.reuse"
ARROW = "spark.sql.execution.arrow.pyspark.enabled"
TIME_ZONE = "spark.sql.session.timeZone"

Lookup = Callable[[str], str | None]
"""The value of a setting; None where nobody has set it."""


def refuse_wrong(value_of: Lookup, environment: Mapping[str, str] = os.environ) -> None:
    """Raises ConfigError for a setting with which a crawl would go wrong."""
    # of a whole application: Spark has no switch for a job or a stage
    if (value_of(SPECULATION) or "false").strip().lower() == "true":
        raise ConfigError(
            f"{SPECULATION} is true: two attempts of a task at once would ask servers twice;"
            f" start the session with {SPECULATION}=false"
        )
    if "SPARK_CONNECT_MODE_ENABLED" in environment or environment.get("SPARK_REMOTE"):
        raise ConfigError(
            "this process uses Spark Connect, which runs no tasks of Python's own: use a classic"
            " session (without SPARK_REMOTE and spark.remote)"
        )
    if environment.get("PYSPARK_PIN_THREAD", "true").lower() != "true":
        raise ConfigError(
            "PYSPARK_PIN_THREAD is not true: jobs of several threads could not be told apart,"
            " and one would cancel those of another; leave the variable out"
        )


@dataclass(frozen=True, slots=True)
class _Wish:
    """A setting that makes a crawl quicker, or what it shows plainer."""

    key: str
    value: str
    default: str
    """Spark's own."""
    why: str
    at_runtime: bool = False
    """Whether it can still be set in a session that runs."""
    same: tuple[str, ...] = ()
    """Other values that come to the same, in lower case."""

    def remark(self, value_of: Lookup) -> str:
        """The line that asks for the setting; empty where it is set."""
        value = (value_of(self.key) or self.default).strip()
        if value.lower() in (self.value.lower(), *self.same):
            return ""
        how = (
            f'spark.conf.set("{self.key}", "{self.value}") sets it'
            if self.at_runtime
            else f"start the session with {self.key}={self.value}"
        )
        return f"{self.key} is {value}: {self.why}; {how}"


_WISHES = (
    _Wish(
        SERIALIZER,
        KRYO,
        "org.apache.spark.serializer.JavaSerializer",
        "rows that go from task to task are sorted the slow way",
    ),
    _Wish(BYPASS_MERGE, "1", "200", "every task that sends rows writes a file a destination"),
    _Wish(WORKER_REUSE, "true", "true", "every task starts a Python process of its own"),
    _Wish(ARROW, "true", "false", "toPandas() goes row by row", at_runtime=True),
    _Wish(
        TIME_ZONE,
        "UTC",
        "the machine's",
        "times in --expr and in tables for Spark are read and shown in it",
        at_runtime=True,
        same=("etc/utc", "z", "gmt", "+00:00"),
    ),
)


def remarks_on(value_of: Lookup) -> list[str]:
    """A line for each setting without which a crawl is right but slow."""
    return [*filter(None, (wish.remark(value_of) for wish in _WISHES)), *_on_retries(value_of)]


def _on_retries(value_of: Lookup) -> Iterator[str]:
    master = value_of("spark.master") or ""
    if is_local(master) and "," not in master:
        cores = master.removeprefix("local").strip("[]") or "1"
        yield (
            f"master {master}: a task that fails is not tried again;"
            f" start the session with master local[{cores},4]"
        )


def remarks_on_unused(settings: Mapping[str, str], value_of: Lookup) -> list[str]:
    """A line for each `spark.*` property that a session which somebody else has opened has not.
    Without its value, which may be a password."""
    return [
        f"{key} of the configuration is not used: somebody else has opened the Spark session of"
        " this process, with another value or none"
        for key, value in sorted(settings.items())
        if value_of(key) != value
    ]


_OF_JVM = (
    *("spark.driver.memory", "spark.driver.extraJavaOptions", "spark.driver.extraClassPath"),
    *("spark.driver.extraLibraryPath", "spark.jars.packages"),
)


def refuse_other_jvm(settings: Mapping[str, str], started_with: Mapping[str, str] | None) -> None:
    """Raises ConfigError for a setting of the JVM that differs from those with which this process
    has started it: it is there for all its sessions. None where nobody knows them."""
    for key in _OF_JVM if started_with is not None else ():
        assert started_with is not None
        if key in settings and settings[key] != started_with.get(key):
            raise ConfigError(
                f"{key} differs from that of the session before: a process has one JVM,"
                " which keeps it from its start; set it for the first session, or start a process"
            )


def tell(remarks: list[str]) -> None:
    """One line each."""
    for remark in remarks:
        _log.warning("%s", remark)
