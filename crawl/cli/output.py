"""What commands print: tables and JSON to stdout, remarks to stderr.

Nothing but this module prints (ruff bans `click.echo` elsewhere), so that no command can
forget to escape what came from outside (crawl/printable.py).

rich, because it draws tables that fit the terminal; it is imported only where there is
one, and elsewhere columns are aligned plainly so that they can be cut and grepped.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import click

from crawl.printable import CELL, json_text, printable, printable_lines
from crawl.telemetry import logs

_log = logging.getLogger(__name__)


def echo(text: str = "", *, err: bool = False) -> None:
    """Lines for people."""
    click.echo(printable_lines(text), err=err)


def echo_columns(*columns: str) -> None:
    """One line, its columns a TAB apart."""
    click.echo("\t".join(map(printable, columns)))


def echo_highlighted(
    text: str, highlights: Sequence[tuple[int, int]], *, lead: str = "", err: bool = False
) -> None:
    """One line with places of it, as (begin, end), in bold, or between asterisks where there is
    no terminal; the text is made safe to look at piece by piece."""
    styled = (sys.stderr if err else sys.stdout).isatty()
    pieces, at = [printable(lead)], 0
    for first, last in highlights:
        marked = printable(text[first:last])
        marked = click.style(marked, bold=True) if styled else f"*{marked}*"
        pieces += [printable(text[at:first]), marked]
        at = last
    click.echo("".join([*pieces, printable(text[at:])]), err=err)


def print_json(content: Any, *, indent: int | None = 1) -> None:
    """One JSON document, for programs; `indent` None: on one line."""
    click.echo(json_text(content, indent=indent))


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    first: bool = True,
    err: bool = False,
) -> None:
    """Rows under their column names; numbers are aligned to the right.

    Where there is no terminal there are no titles either, and an empty line stands before
    every table but the first. `err`: to stderr, as what is no answer.
    """
    texts = [[_cell_text(value) for value in row] for row in rows]
    if err and logs.is_json():
        records = [dict(zip(columns, row, strict=True)) for row in texts]
        _log.info(title, extra={"fields": {"rows": records}})
        return
    numeric = [
        bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        for place in range(len(columns))
    ]
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        _draw(title, columns, texts, numeric, stream)
        return
    if not first:
        click.echo(err=err)
    widths = [
        max([len(column), *(len(row[place]) for row in texts)])
        for place, column in enumerate(columns)
    ]
    for row in [list(columns), *texts]:
        cells = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ]
        click.echo("  ".join(cells).rstrip(), err=err)


def remark(message: str) -> None:
    """A line for the person at the terminal; never part of the answer."""
    if logs.is_json():
        _log.info(message.strip("\n"))
    else:
        echo(message, err=True)


def _cell_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100_000 else f"{value:,.6g}"
    return printable(str(value), CELL)


def _draw(
    title: str, columns: Sequence[str], rows: list[list[str]], numeric: list[bool], stream: TextIO
) -> None:
    """In a box where there is room for one. Else without, and with the widest columns
    folded; numbers and the first column, which people look for and copy, are not."""
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream)
    widths = [
        max(map(cell_len, [column, *(row[place] for row in rows)]))
        for place, column in enumerate(columns)
    ]
    boxed = sum(widths) + 3 * len(widths) + 1 <= console.width
    firm = [right or place == 0 for place, right in enumerate(numeric)]
    room_for_firm = (
        sum(
            (width if is_firm else min(width, _FOLDED)) + 2
            for width, is_firm in zip(widths, firm, strict=True)
        )
        <= console.width
    )
    table = Table(
        title=Text(printable(title)),
        title_justify="left",
        box=box.HEAVY_HEAD if boxed else None,
        padding=(0, 1) if boxed else (0, 2, 0, 0),
        pad_edge=boxed,
    )
    for column, right, is_firm in zip(columns, numeric, firm, strict=True):
        table.add_column(
            column,
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=is_firm and room_for_firm,
        )
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


_FOLDED = 10
"""A folded column that is narrower than this is not worth reading."""
