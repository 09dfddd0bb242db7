"""Python regular expressions over whole columns, by Arrow's RE2 engine.

A rule file is written for `re`; RE2 is ten times quicker over a column but reads some
things otherwise. So a pattern is translated from the tree that `re` itself parses it to,
construct by construct, and only where both engines answer alike on every *plain* text:
ASCII without a newline, as every normalised URL is. What has no such translation
(look-around, backreferences …) has none here, and the caller asks row by row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.urls.columns import column_bytes

try:
    # The only way to the tree; without it everything still works, row by row.
    from re import _parser as _tree  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover
    _tree = None

_MAX_REPEAT = 1000  # RE2's own limit
_LAST_ASCII = 0x7F
_IN_EVERY_URL = ":/."

# Beyond a few hundred rules RE2 throws its automaton away all the time: 0.4 µs a URL for a
# hundred rules in one expression, 100 µs for a thousand.
_MAX_MERGED = 100
_LONGEST_MERGED = 10_000

_CATEGORIES = {
    "CATEGORY_DIGIT": "0-9",
    "CATEGORY_WORD": "0-9A-Za-z_",
    "CATEGORY_SPACE": r"\x09-\x0d\x1c-\x20",
}
_NEGATED_CATEGORIES = {  # among plain characters
    "CATEGORY_NOT_DIGIT": r"\x00-\x2f\x3a-\x7f",
    "CATEGORY_NOT_WORD": r"\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f",
    "CATEGORY_NOT_SPACE": r"\x00-\x08\x0e-\x1b\x21-\x7f",
}
_ASSERTIONS = {
    "AT_BEGINNING": r"\A",
    "AT_BEGINNING_STRING": r"\A",
    "AT_END": r"\z",  # a plain text has no newline before which `$` could match
    "AT_END_STRING": r"\z",
    "AT_BOUNDARY": r"\b",
}
_UNDERSTOOD_FLAGS = re.IGNORECASE | re.ASCII | re.UNICODE | re.DOTALL | re.MULTILINE | re.VERBOSE


class _UntranslatableError(Exception):
    """RE2 has no such construct, or reads it otherwise."""


def translated(pattern: re.Pattern[str]) -> str | None:
    """The RE2 expression that is found in the same plain texts, or None if there is none."""
    if _tree is None or pattern.flags & ~_UNDERSTOOD_FLAGS:
        return None
    try:
        return _sequence(_tree.parse(pattern.pattern, pattern.flags), pattern.flags)
    except (_UntranslatableError, RecursionError):
        return None


def required_character(pattern: re.Pattern[str]) -> str:
    """A punctuation mark without which nothing can match, or nothing where there is none:
    to look for it first is a hundred times quicker than to try the pattern."""
    if _tree is None:
        return ""
    required = _required(_tree.parse(pattern.pattern, pattern.flags))
    return next((mark for mark in required if mark not in _IN_EVERY_URL), "")


def _required(nodes: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    for operator, argument in nodes:
        match str(operator):
            case "LITERAL" if chr(argument).isascii() and not chr(argument).isalnum():
                yield chr(argument)
            case "SUBPATTERN":
                yield from _required(argument[3])
            case "MAX_REPEAT" | "MIN_REPEAT" if argument[0] > 0:
                yield from _required(argument[2])


def is_plain(urls: pa.Array[Any]) -> pa.Array[Any]:
    """Where a translated expression may be believed; null for null."""
    ascii_only = pc.string_is_ascii(urls)
    if not column_bytes(urls).contains("\n"):
        return ascii_only
    return pc.and_not(ascii_only, pc.match_substring(urls, "\n"))


class ColumnSearch:
    """Any of several translated expressions, found in a column of plain texts."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self._merged = tuple(_merge(expressions))

    @classmethod
    def of(cls, patterns: Iterable[re.Pattern[str]]) -> ColumnSearch | None:
        """None where one of the patterns cannot be translated, or is too large for RE2."""
        expressions = [translated(pattern) for pattern in patterns]
        if None in expressions:
            return None
        try:
            return cls([expression for expression in expressions if expression is not None])
        except pa.ArrowInvalid:
            return None

    def matches(self, urls: pa.Array[Any]) -> pa.Array[Any]:
        """True where any of the expressions is found; believe it where `is_plain`."""
        if not self._merged:
            nowhere: pa.Array[Any] = pa.array(np.zeros(len(urls), np.bool_))
            return nowhere
        result = pc.match_substring_regex(urls, self._merged[0])
        for expression in self._merged[1:]:
            result = pc.or_(result, pc.match_substring_regex(urls, expression))
        return result


def _merge(expressions: Sequence[str]) -> Iterator[str]:
    """Few alternations, since each costs a scan; raises ArrowInvalid where RE2 refuses."""
    group: list[str] = []
    for expression in expressions:
        if len(group) == _MAX_MERGED or sum(map(len, group)) > _LONGEST_MERGED:
            yield _alternation(group)
            group = []
        group.append(expression)
    if group:
        yield _alternation(group)


def _alternation(expressions: Sequence[str]) -> str:
    merged = "|".join(f"(?:{expression})" for expression in expressions)
    pc.match_substring_regex(pa.array([""]), merged)
    return merged


def _sequence(nodes: Iterable[tuple[Any, Any]], flags: int) -> str:
    return "".join(_node(str(operator), argument, flags) for operator, argument in nodes)


def _node(operator: str, argument: Any, flags: int) -> str:
    if operator == "LITERAL":
        return _cased(_character(argument, flags), flags)
    if operator == "NOT_LITERAL":
        return _cased(f"[^{_character(argument, flags)}]", flags)
    if operator == "ANY":
        return "(?s:.)" if flags & re.DOTALL else r"[^\n]"
    if operator == "IN":
        return _cased(_character_class(argument, flags), flags)
    if operator == "BRANCH":
        return "(?:" + "|".join(_sequence(branch, flags) for branch in argument[1]) + ")"
    if operator == "SUBPATTERN":
        _, added, removed, inner = argument
        return f"(?:{_sequence(inner, (flags | added) & ~removed)})"
    if operator in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = argument
        return _repeat(least, most, inner, flags)
    if operator == "AT" and str(argument) in _ASSERTIONS:
        return _ASSERTIONS[str(argument)]
    raise _UntranslatableError(operator)


def _character(code: int, flags: int) -> str:
    # Beyond ASCII the engines fold case differently: "ı" and "i".
    if code > _LAST_ASCII and flags & re.IGNORECASE:
        raise _UntranslatableError("letter case beyond ASCII")
    if 0xD800 <= code <= 0xDFFF:
        raise _UntranslatableError("surrogate")
    character = chr(code)
    return character if character.isalnum() and code <= _LAST_ASCII else rf"\x{{{code:x}}}"


def _cased(expression: str, flags: int) -> str:
    return f"(?i:{expression})" if flags & re.IGNORECASE else expression


def _character_class(members: Sequence[tuple[Any, Any]], flags: int) -> str:
    parts: list[str] = []
    for operator, argument in members:
        match str(operator):
            case "NEGATE":
                parts.append("^")
            case "LITERAL":
                parts.append(_character(argument, flags))
            case "RANGE":
                parts.append("-".join(_character(end, flags) for end in argument))
            case "CATEGORY":
                name = str(argument)
                parts.append(_CATEGORIES.get(name) or _NEGATED_CATEGORIES[name])
            case unknown:
                raise _UntranslatableError(unknown)
    return "[" + "".join(parts) + "]"


def _repeat(least: int, most: int, inner: Iterable[tuple[Any, Any]], flags: int) -> str:
    # Whether a repetition is greedy does not change whether there is a match.
    unbounded = str(most) == "MAXREPEAT"
    if least > _MAX_REPEAT or (not unbounded and most > _MAX_REPEAT):
        raise _UntranslatableError("too many repetitions")
    body = f"(?:{_sequence(inner, flags)})"
    if unbounded and least in (0, 1):
        return body + "*+"[least]
    return body + (f"{{{least},}}" if unbounded else f"{{{least},{most}}}")
