"""Which rule decides over a path: the longest that matches, and Allow among equals.

The library is `protego` (pure Python, used by Scrapy, 42 of 45 RFC cases before mending):
its wildcards are searched part by part, without backtracking, so that no rule can hang a
thread; that is new in 0.7, hence the version. Nothing else imports it.

It has a spelling of its own for escapes, in which `?` counts three octets and `%3F` is `?`,
and it reads `$` and `index.html` in two ways. So it never sees any: each octet is written
as two hexadecimal digits and a dash, which it compares as they are, and each `*` and `$`
also as three characters, which keeps the lengths in proportion.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

from protego import Protego

_WILDCARD = "***"
_END = "==="

# Many hosts have the same rules, those of the shop or blog software that they run. Compiled
# they take twenty times their text, so that what is kept is bounded by size: this many
# characters for texts of each order of magnitude, some 170 MB if all are full.
_KEPT = 2 << 20
_SIZES = (1 << 10, 8 << 10, 64 << 10, 512 << 10)


def is_allowed(rules: str, path: str) -> bool:
    """Whether the rules, one `Allow: …` or `Disallow: …` a line, let the path be fetched;
    all spelled by `octets`."""
    compiled = _COMPILED[bisect_left(_SIZES[:-1], len(rules))]
    return compiled(rules).can_fetch(f"/{_literal(path)}{_END}", "*")


def _compiled(rules: str) -> Protego:
    lines = ["User-agent: *"]
    for rule in rules.splitlines():
        field, _, pattern = rule.partition(" ")
        lines.append(f"{field} {_pattern(pattern)}")
    return Protego.parse("\n".join(lines))


_COMPILED = tuple(lru_cache(_KEPT // size)(_compiled) for size in _SIZES)


def _pattern(pattern: str) -> str:
    parts = pattern.removesuffix("$").split("*")
    end = _END if pattern.endswith("$") else ""
    return f"/{_WILDCARD.join(map(_literal, parts))}{end}"


def _literal(text: str) -> str:
    return f"{text.encode('ascii').hex('-')}-" if text else ""
