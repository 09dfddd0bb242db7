"""What is wrong, in the words of whoever is told: the drivers name options as the command line
spells them, and to a caller in Python they are arguments."""

from __future__ import annotations

import re

from crawl.operations.operation import Operation
from crawl.operations.options import Face

_FLAG = re.compile(r"`[^`]*`|(?<![\w-])--?[A-Za-z][\w-]*")
"""Or a command line, which is one for everybody."""


def in_python(text: str, operation: Operation) -> str:
    """The text with the names of arguments in place of the operation's flags."""
    names: dict[str, str] = {}
    for field in operation.fields(Face.API):
        for flags in field.flags:
            said, _, denied = flags.partition("/")
            false = f"{field.name}=False"
            names[said] = false if field.is_negated else field.name
            if denied:
                names[denied] = false

    def named(match: re.Match[str]) -> str:
        return names.get(match[0], match[0])

    return _FLAG.sub(named, text)
