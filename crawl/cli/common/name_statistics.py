"""Commands that count something by name: by host, by domain …

All of them have the same options, an answer for all names and a list of the largest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import print_json, print_table
from crawl.cli.common.picture_option import (
    plot_option,
    snapshot_option,
    tell_picture,
    top_option,
)
from crawl.config import Config
from crawl.spark.runners import SparkOptions

Row = Sequence[object]
Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NameStatisticsView:
    """What is shown of an answer."""

    totals: Sequence[Row]
    """What was counted, and the count."""
    columns: Sequence[str]
    """Of the list, behind the name."""
    largest: Sequence[Row]


def name_statistics(
    name: str, kinds: Sequence[str], ask: Callable[..., Answer]
) -> Callable[[Callable[[Answer, str], NameStatisticsView]], click.Command]:
    """Makes a command of what is shown of its answer, whose docstring is the help. `ask` is given
    the crawl, what is counted by, and the options."""

    def made(view: Callable[[Answer, str], NameStatisticsView]) -> click.Command:
        @click.command(name)
        @crawl_dir_argument
        @click.option(
            "--by",
            type=click.Choice(kinds),
            default="host",
            show_default=True,
            help="What is counted.",
        )
        @top_option(50, "names")
        @plot_option
        @snapshot_option
        @json_option
        @with_spark
        @with_config
        @functools.wraps(view)
        def command(
            crawl_dir: str,
            by: str,
            top: int,
            plot: str | None,
            snapshot: int | None,
            as_json: bool,
            spark: SparkOptions,
            config: Config,
        ) -> int:
            with open_crawl(crawl_dir, config, spark, command=name) as web:
                found = ask(web, by, top=top, plot=plot, snapshot=snapshot)
            if as_json:
                print_json(found)
                return 0
            shown = view(found, by)
            print_table("all", ["what", "count"], shown.totals)
            if shown.largest:
                print_table(f"largest {by}s", [by, *shown.columns], shown.largest, first=False)
            tell_picture(name, plot)
            return 0

        return command

    return made
