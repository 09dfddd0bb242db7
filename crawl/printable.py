"""Text from outside made safe to look at.

URLs, headers, titles and error texts are written by whoever runs a web server. A terminal
obeys control characters in them (move the cursor, set the title, answer on stdin), bidi
controls reorder what a person reads, and invisible characters hide it. Here they become
visible escapes such as `\\x1b` and `\\u202e`. What is printed by a command goes through
this module; what is kept as data (Parquet, JSON) keeps its value.
"""

from __future__ import annotations

import json
import re
from typing import Any

CELL = 2_000
"""Characters that one cell of a table shows at most."""

# str.isprintable is False for controls, format characters (bidi and zero-width ones among
# them), line and paragraph separators, surrogates, private and unassigned characters and all
# blanks but the space. These are letters and marks by their category, yet show nothing.
_BLANK_LETTERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]")

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FORMULA = re.compile("[=+\\-@\t\r＝＋－＠]")
"""How a cell begins that spreadsheets run; the wide forms count where Excel is East Asian."""


def printable(text: str, most: int | None = None) -> str:
    """The text on one line, with everything escaped that is not meant to be seen; of a text
    longer than `most` characters the beginning and its length."""
    cut = most is not None and len(text) > most
    shown = text[:most] if cut else text
    if not _is_plain(shown):
        shown = "".join(each if _is_plain(each) else _escape(each) for each in shown)
    return f"{shown}… ({len(text):,} characters)" if cut else shown


def printable_lines(text: str) -> str:
    """The same for a text of several lines: line feeds stay."""
    return "\n".join(map(printable, text.split("\n")))


def one_line(text: str, most: int | None = None) -> str:
    """A message of any number of lines as one."""
    return printable(" ".join(filter(None, map(str.strip, text.splitlines()))), most)


def plural(count: int, thing: str) -> str:
    """So many of something: `1 page`, `2,000 pages`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def json_text(content: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """The content as JSON that can be looked at: what a person cannot see is escaped, and
    whoever parses it gets the same values."""
    text = json.dumps(content, indent=indent, ensure_ascii=ascii_only, default=str)
    if all(map(_is_plain, text.split("\n"))):
        return text
    return "".join(each if each == "\n" or _is_plain(each) else _json_escape(each) for each in text)


def _json_escape(character: str) -> str:
    """The character as it is written in JSON by its number."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def csv_cell(text: str) -> str:
    """A text for a CSV file: printable, and with an apostrophe before what a spreadsheet would
    take for a formula."""
    return f"'{printable(text)}" if is_formula(text) else printable(text)


def without_controls(text: str) -> str:
    """A text that is data and may be looked at all the same: control characters, which a terminal
    obeys, are escaped; TAB, line feeds and all that languages need, such as joiners and marks of
    direction, stay."""
    return _CONTROLS.sub(lambda match: _escape(match[0]), text)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a cell with this text."""
    return _FORMULA.match(text) is not None


def _is_plain(text: str) -> bool:
    return text.isprintable() and _BLANK_LETTERS.search(text) is None


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
