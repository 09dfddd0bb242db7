"""The options that statistics share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from crawl.cli.common.output import remark

Command = TypeVar("Command", bound=Callable[..., Any])

plot_option = click.option(
    "--plot", metavar="FILE", help="Draw a picture: FILE.svg, .png or .pdf (extra `plot`)."
)
snapshot_option = click.option(
    "--snapshot", type=int, metavar="N", help="Read this snapshot instead of the current."
)


def top_option(default: int, what: str) -> Callable[[Command], Command]:
    """--top N."""
    return click.option(
        "--top",
        type=click.IntRange(min=0),
        metavar="N",
        default=default,
        show_default=True,
        help=f"How many {what} are listed.",
    )


def tell_picture(command: str, plot: str | None) -> None:
    """Says where a picture is."""
    if plot is not None:
        remark(f"{command}: picture in {plot}")
