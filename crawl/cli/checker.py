"""The options that all checkers of URLs have: where the URLs come from, and how they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from crawl.cli.lines import lines_json_option, stdin_option
from crawl.cli.listen import listen_options
from crawl.cli.options import with_config

Command = Callable[..., Any]


def checker_options(command: Command) -> Command:
    """`urls`, `from_stdin`, `listen`, `as_json` and `config` of a checker."""
    named = click.argument("urls", nargs=-1, metavar="[URL]...")
    return named(stdin_option(listen_options(lines_json_option(with_config(command)))))


def instead_option(flag: str, parameter: str, what: str, setting: str) -> Callable[..., Any]:
    """Plugins that are asked instead of the configured ones."""
    return click.option(
        flag,
        parameter,
        multiple=True,
        metavar="PLUGIN",
        help=f"Ask this {what} instead of those in {setting} (repeatable).",
    )
