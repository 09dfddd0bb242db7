"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from crawl.cli.common.output import remark
from crawl.declared import load_declared

Command = TypeVar("Command", bound=Callable[..., Any])


def with_config(command: Command) -> Command:
    """Adds -D, --conf and --log-format; the command is called with `config`, and observed."""

    @click.option(
        "-D",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a property for this run (repeatable); see `crawl showproperties`.",
    )
    @click.option(
        "--conf",
        "conf",
        metavar="PATH",
        help="Folder with crawl-site.toml and rule files, or a TOML file"
        " (default: $CRAWL_CONF_DIR, or ./conf if it has a crawl-site.toml).",
    )
    @click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        help="json: remarks and errors as JSON, one object a line (the property log.format).",
    )
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        overrides: tuple[str, ...],
        conf: str | None,
        log_format: str | None,
        **kwargs: Any,
    ) -> Any:
        from crawl.telemetry.ambient import observed_command, scrape_address

        if log_format is not None:
            overrides = (*overrides, f"log.format={log_format}")
        config = load_declared(overrides, conf, os.environ)
        name = click.get_current_context().info_name or ""
        with observed_command(config, name, str(kwargs.get("crawl_dir") or "")):
            if scrape_address() and not getattr(kwargs.get("spark"), "quiet", False):
                remark(f"{name}: metrics at {scrape_address()}")
            return command(*args, config=config, **kwargs)

    return wrapped  # type: ignore[return-value]


def with_spark(command: Command) -> Command:
    """Adds --master and --quiet; the command is called with `spark: SparkOptions`."""
    from crawl.spark.runners import SparkOptions

    @click.option(
        "--master",
        metavar="MASTER",
        help="Spark master: local[4], spark://host:7077, yarn, k8s://… (default: local[*]).",
    )
    @click.option("-q", "--quiet", is_flag=True, help="No progress, only results and errors.")
    @functools.wraps(command)
    def wrapped(*args: Any, master: str | None, quiet: bool, **kwargs: Any) -> Any:
        from crawl.cli.common.spark_start import spark_is_starting

        starting = functools.partial(spark_is_starting, quiet=quiet)
        return command(*args, spark=SparkOptions(master, quiet, starting), **kwargs)

    return wrapped  # type: ignore[return-value]


def with_segments(command: Command) -> Command:
    """Adds [SEGMENT]... and --segments, which say the same; the command is called with
    `segments`, a tuple of names that is empty where none was given."""

    @click.argument("segments", nargs=-1, metavar="[SEGMENT]...")
    @click.option(
        "--segments",
        "listed",
        multiple=True,
        metavar="NAME[,NAME]",
        help="These segments (repeatable): the same as SEGMENT arguments.",
    )
    @functools.wraps(command)
    def wrapped(
        *args: Any, segments: tuple[str, ...], listed: tuple[str, ...], **kwargs: Any
    ) -> Any:
        names = (name.strip() for each in listed for name in each.split(","))
        return command(*args, segments=(*segments, *filter(None, names)), **kwargs)

    return wrapped  # type: ignore[return-value]


crawl_dir_argument = click.argument("crawl_dir", metavar="CRAWL_DIR")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as JSON, for programs."
)
steal_lock_option = click.option(
    "--steal-lock", is_flag=True, help="Take the lock even if its owner seems to be alive."
)
