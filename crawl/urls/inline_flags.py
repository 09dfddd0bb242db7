"""Flags within a regular expression, as Java has them: `a(?i)b|c` is `a(?i:b)|(?i:c)`.

Rule files that come from Nutch are written for Java, where such a flag holds to the end of
the group that it stands in, its other branches included. Python takes flags at the very
beginning only, or those of a group: `(?i:…)`.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<escape> \\. )
    | (?P<set> \[ \^? \]? (?: \\. | [^\]\\] )* \] )
    | \(\? (?P<on> [imsudU]* ) (?P<off> -[imsudU]* )? \)
    | (?P<open> \( )
    | (?P<close> \) )
    | (?P<branch> \| )""",
    re.VERBOSE | re.DOTALL,
)
_JAVA_ONLY = str.maketrans("", "", "udU")
"""Flags of Java about line ends and letters beyond ASCII, which mean nothing in a URL."""


def scope_flags(expression: str) -> str:
    """The expression with each flag after its beginning written as that of a group; the same
    text where there is none."""
    groups: list[list[str]] = [[]]
    """The flags that hold in each open group, as the beginnings of groups of their own."""
    pieces: list[str] = []
    end = 0
    for token in _TOKEN.finditer(expression):
        pieces.append(expression[end : token.start()])
        end = token.end()
        pieces.append(_scoped(token, groups))
    pieces.append(expression[end:])
    pieces.append(")" * len(groups[0]))
    return "".join(pieces)


def _scoped(token: re.Match[str], groups: list[list[str]]) -> str:
    if token["open"]:
        groups.append([])
    elif token["close"] and len(groups) > 1:
        return ")" * len(groups.pop()) + ")"
    elif token["branch"]:
        flags = groups[-1]
        return ")" * len(flags) + "|" + "".join(flags)
    elif token["on"] is not None and token.start() > 0:
        off = (token["off"] or "").translate(_JAVA_ONLY)
        group = f"(?{token['on'].translate(_JAVA_ONLY)}{off if off != '-' else ''}:"
        groups[-1].append(group)
        return group
    return token[0]
