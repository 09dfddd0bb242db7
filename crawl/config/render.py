"""Writes conf/crawl-default.toml: the documentation of every property, which is also a
valid site file that changes nothing. It is made from the declarations, so it cannot lie.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from textwrap import wrap
from typing import Any

from crawl.config.property import Property
from crawl.errors import ConfigError

_WIDTH = 100
_HEAD = """\
# Every property with its default. This file is made by `crawl showproperties --toml` and is
# never read: set what you change in crawl-site.toml, or for one command with -D KEY=VALUE.
#
# Durations and sizes may bear a unit, as text: "500ms" "5s" "10min" "2h" "30d", "64KiB" "10MB".
# Keys are quoted, because where one begins like another (a.b and a.b.c) TOML's tables cannot
# hold both; elsewhere dotted keys and tables ([fetcher.server], then delay = 5) are the same.
# Keys under spark. go to the Spark session as they are.
"""


def distinct(properties: Iterable[Property[Any]]) -> list[Property[Any]]:
    """The properties by name, each once; ConfigError where two declare one key differently."""
    by_name: dict[str, Property[Any]] = {}
    for declared in properties:
        if by_name.setdefault(declared.name, declared) != declared:
            raise ConfigError(f"{declared.name} is declared twice, and not alike")
    return [by_name[name] for name in sorted(by_name)]


def render(properties: Iterable[Property[Any]]) -> str:
    """The text of the file."""
    parts = [_HEAD]
    for section, members in groupby(distinct(properties), lambda each: each.name.split(".")[0]):
        parts.append(f"\n# ---- {section} ".ljust(_WIDTH, "-") + "\n")
        parts.extend(f"\n{_entry(declared)}" for declared in members)
    return "".join(parts)


def _entry(declared: Property[Any]) -> str:
    kind = declared.kind
    unit = f" in {kind.unit}" if kind.unit else ""
    limits = f", {kind.limits}" if kind.limits else ""
    lines = [*_wrap(declared.about), *_wrap(f"{kind.name}{unit}{limits}")]
    comment = "".join(f"# {line}\n" for line in lines)
    key = toml(declared.name)
    if isinstance(declared.default, Property):
        return f"{comment}# {key} = the value of {declared.default.name}\n"
    return f"{comment}{key} = {toml(declared.default)}\n"


def _wrap(sentence: str) -> list[str]:
    return wrap(sentence, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)


def toml(value: object) -> str:
    """A value as TOML; what JSON writes for texts, numbers and lists of them is TOML too."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)
