"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; cells are Markdown already."""
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for row in rows:
        lines.append("| " + " | ".join(_cell(cell) for cell in row) + " |")
    return "\n".join(lines) + "\n"


def code(text: object) -> str:
    """Text as it is typed, inside a line; empty text stays empty."""
    shown = str(text)
    if not shown:
        return ""
    fence = "``" if "`" in shown else "`"
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def block(text: str, language: str = "text") -> str:
    """A fenced block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def sentence(text: str) -> str:
    """The text as a sentence: a capital first, a full stop last; code is left alone."""
    text = " ".join(text.split())
    if not text:
        return ""
    first = text[0].upper() if text[0].isalpha() else text[0]
    return first + text[1:] + ("" if text[-1] in ".:!?…" else ".")


def prose(text: str) -> str:
    """Text of a docstring, which Markdown must not take for HTML."""
    return text.replace("<", "&lt;")


def _cell(text: str) -> str:
    """Bars part the columns, but not those inside code."""
    pieces = re.split(r"(`+.*?`+)", " ".join(text.split()))
    return "".join(
        piece if number % 2 else piece.replace("|", "\\|") for number, piece in enumerate(pieces)
    )
