"""Checkers speak in lines: URLs as arguments or on stdin, an answer to each at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from crawl.cli.output import echo_columns, print_json
from crawl.errors import UsageError

stdin_option = click.option(
    "--stdin", "from_stdin", is_flag=True, help="Read URLs from stdin, one per line."
)
lines_json_option = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object per line."
)

_LONGEST_LINE = 1 << 20


def requested_urls(arguments: Sequence[str], *, from_stdin: bool) -> Iterator[str]:
    """The URLs of the command line, or the lines of stdin as they come."""
    if bool(arguments) == from_stdin:
        raise UsageError("give either URLs or --stdin")
    return _stdin_lines() if from_stdin else map(decoded_argument, arguments)


def _stdin_lines() -> Iterator[str]:
    stream = sys.stdin.buffer
    number = 0
    while line := stream.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise UsageError(f"line {number} of stdin is longer than {_LONGEST_LINE:,} bytes")
        yield line.rstrip(b"\r\n").decode("utf-8", "replace")


def decoded_argument(argument: str) -> str:
    """Bytes that are no UTF-8 come in as surrogates, which no URL holds and nothing prints."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def print_line(*columns: str) -> None:
    """One line, its columns a TAB apart, that whoever waits for it sees at once."""
    echo_columns(*columns)
    sys.stdout.flush()


def print_json_line(content: Any) -> None:
    """One JSON object on a line of its own."""
    print_json(content, indent=None)
    sys.stdout.flush()
