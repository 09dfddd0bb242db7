"""The options that all checkers of URLs have: where the URLs come from, and how they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from crawl.cli.common.line_server import listen_options
from crawl.cli.common.options import with_config
from crawl.cli.common.url_lines import lines_json_option, stdin_option

Command = Callable[..., Any]


def checker_options(command: Command) -> Command:
    """`urls`, `from_stdin`, `listen`, `as_json` and `config` of a checker."""
    named = click.argument("urls", nargs=-1, metavar="[URL]...")
    return named(stdin_option(listen_options(lines_json_option(with_config(command)))))


def plugin_option(flag: str, parameter: str, what: str, setting: str) -> Callable[..., Any]:
    """Plugins that are asked instead of the configured ones."""
    return click.option(
        flag,
        parameter,
        multiple=True,
        metavar="PLUGIN",
        help=f"Ask this {what} instead of those in {setting} (repeatable).",
    )
