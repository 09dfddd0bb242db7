"""The options that belong to the command line and to no operation: how it is configured, where the
work is done, and how the answer looks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from crawl.errors import NOTHING_MORE
from crawl.operations.operation import Due, Operation

if TYPE_CHECKING:
    from crawl.spark.runners import SparkOptions


@dataclass(frozen=True, slots=True)
class FaceValues:
    """The values that one call gives them."""

    overrides: tuple[str, ...] = ()
    conf: str | None = None
    master: str | None = None
    quiet: bool = False
    json: bool = False
    if_due: bool = False
    stdin: bool = False
    listen: int | None = None
    listen_address: str | None = None
    keep_open: bool = False

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> FaceValues:
        """The values that click read; an operation's own are left out."""
        values = {
            name: parameters[_PREFIX + name] for name in _NAMES if _PREFIX + name in parameters
        }
        if (log_format := parameters.get(_PREFIX + "log_format")) is not None:
            values["overrides"] = (*values["overrides"], f"log.format={log_format}")
        return cls(**values)

    def spark(self) -> SparkOptions:
        """What is said about Spark."""
        from crawl.cli.spark_start import spark_is_starting
        from crawl.spark.runners import SparkOptions

        starting = functools.partial(spark_is_starting, quiet=self.quiet)
        return SparkOptions(self.master, self.quiet, starting)


_PREFIX = "face_"
"""Begins their names: an operation may have an option of the same name."""
_NAMES = tuple(FaceValues.__dataclass_fields__)


def of(operations: Sequence[Operation]) -> Iterator[click.Option]:
    """The options of a command that stands for these operations."""
    first = operations[0]
    if first.due is Due.IN_ROUND:
        yield _flag(
            "--if-due",
            help="For schedulers: whatever was begun is finished before anything new, what is done"
            f" already is no fault; exit code {NOTHING_MORE} where nothing more is to be done.",
        )
    elif first.due is Due.IF_ANY:
        yield _flag("--if-due", help="For schedulers: where nothing is left to do, exit code 0.")
    if first.streams and "urls" in first.options.__dataclass_fields__:
        yield from _lines()
    yield _flag(
        "--json",
        help="One JSON object per line."
        if first.streams
        else "Print the answer as JSON, for programs.",
    )
    uses_spark = any(each.uses_spark for each in operations)
    if uses_spark:
        yield _option(
            "--master",
            metavar="MASTER",
            help="Spark master: local[4], spark://host:7077, yarn, k8s://… (default: local[*]).",
        )
    if uses_spark or any(each.has_progress for each in operations):
        yield _flag("-q", "--quiet", help="No progress, only results and errors.")
    yield _option(
        "-D",
        name="overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a property for this run (repeatable); see `crawl showproperties`.",
    )
    yield _option(
        "--conf",
        metavar="PATH",
        help="Folder with crawl-site.toml and rule files, or a TOML file"
        " (default: $CRAWL_CONF_DIR, or ./conf if it has a crawl-site.toml).",
    )
    yield _option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        help="json: remarks and errors as JSON, one object a line (the property log.format).",
    )


def _lines() -> Iterator[click.Option]:
    from crawl.cli.line_server import LOOPBACK, PATIENCE_SECONDS

    yield _flag("--stdin", help="Read URLs from stdin, one per line.")
    yield _option(
        "--listen",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        help="Read URLs from clients of this TCP port, until Ctrl-C; 0: a free one.",
    )
    yield _option(
        "--listen-address",
        metavar="ADDRESS",
        help=f"With --listen: where (default: {LOOPBACK}, for clients of this machine only).",
    )
    yield _flag(
        "--keep-client-cnx-open",
        name="keep_open",
        help="With --listen: answer a client's lines until it goes or is silent for"
        f" {PATIENCE_SECONDS / 60:.0f} minutes, not the first one only.",
    )


def _option(*flags: str, name: str = "", **others: Any) -> click.Option:
    """`name`: of its value, where that is not the last flag's."""
    name = name or flags[-1].lstrip("-").replace("-", "_")
    return click.Option([*flags, _PREFIX + name], **others)


_flag = functools.partial(_option, is_flag=True)
