"""What an expression must not do: reach for anything but the columns of its row.

A Spark SQL expression can call Java methods, read other tables in a subquery and run scripts. The
words that do so are refused where Spark would read them as code; in a string literal or a comment
they are text (`url LIKE '%/select/%'`).

Where a literal or a comment ends depends on how text is read: whether a backslash escapes the
quote behind it (not in `r'…'`), and whether comments nest. A word is refused if it is code by any
of these readings, so that a guard and a Spark which disagree leave no gap between them. What has
a `$`, which begins literals of another kind, is searched as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from crawl.errors import UsageError

_FORBIDDEN = frozenset(
    {
        *("ASSERT_TRUE", "IDENTIFIER", "JAVA_METHOD", "RAISE_ERROR"),
        *("REFLECT", "SELECT", "TRY_REFLECT", "USING"),
    }
)
"""IDENTIFIER makes the name of a function of a string; USING names a script."""
_BEGINS_QUERY = frozenset({"FROM", "TABLE", "VALUES", "WITH"})
"""Behind a bracket; elsewhere they are parts of expressions (`trim(BOTH '/' FROM url)`)."""
_WORD = re.compile(r"\w+")


def refuse_forbidden(name: str, expr: str) -> None:
    """Raises UsageError for an expression that would do more than compute a value."""
    for has_escapes, are_nested in product((True, False), repeat=2):
        tokens = list(_code(expr, has_escapes=has_escapes, are_nested=are_nested))
        if "$" in tokens:
            tokens = _WORD.findall(expr)
        before = ""
        for token in tokens:
            if _is_one_of(token, _FORBIDDEN) or (
                before == "(" and _is_one_of(token, _BEGINS_QUERY)
            ):
                raise UsageError(f"{name}: {token!r} may not be used in an expression")
            before = token


def _is_one_of(word: str, words: frozenset[str]) -> bool:
    """Whether Spark may take it for one of the words, whose letters it compares in either case:
    `ſ` is an S to it."""
    return word.upper() in words or word.lower().upper() in words


def _code(expr: str, *, has_escapes: bool, are_nested: bool) -> Iterator[str]:
    """The words and signs of an expression that are no text, by one way to read it. Identifiers
    in quotes are code; what has double quotes is so where it is called."""
    at = 0
    while at < len(expr):
        sign = expr[at]
        if sign in "'\"":
            end = _end_of_quoted(expr, at, has_escapes=has_escapes)
            if sign == '"' and _is_called(expr, end):
                yield from _WORD.findall(expr[at:end])
            at = end
        elif sign == "`":
            end = _end_of_quoted(expr, at, has_escapes=False)
            yield from _WORD.findall(expr[at:end])
            at = end
        elif expr.startswith("--", at):
            at = _end_of_line(expr, at)
        elif expr.startswith("/*", at) and not expr.startswith("/*+", at):  # which is a hint
            at = _end_of_comment(expr, at, are_nested=are_nested)
        elif word := _WORD.match(expr, at):
            yield word.group()
            at = word.end()
        else:
            if not sign.isspace():
                yield sign
            at += 1


def _end_of_quoted(expr: str, at: int, *, has_escapes: bool) -> int:
    """A quote that is doubled ends one text and begins the next, which comes to the same."""
    quote, at = expr[at], at + 1
    while at < len(expr) and expr[at] != quote:
        at += 2 if has_escapes and expr[at] == "\\" else 1
    return min(at + 1, len(expr))


def _is_called(expr: str, at: int) -> bool:
    """Whether a name may be meant: of a function, or of what one is in."""
    rest = re.sub(r"/\*.*?\*/|--[^\r\n]*|\s", "", expr[at:], flags=re.DOTALL)
    return rest[:1] in ("(", ".", "*", "/", "-")


def _end_of_line(expr: str, at: int) -> int:
    line_end = re.compile(r"[\r\n]").search(expr, at)
    return line_end.end() if line_end else len(expr)


def _end_of_comment(expr: str, at: int, *, are_nested: bool) -> int:
    depth, at = 1, at + 2
    while at < len(expr) and depth:
        if expr.startswith("*/", at):
            depth, at = depth - 1, at + 2
        elif are_nested and expr.startswith("/*", at):
            depth, at = depth + 1, at + 2
        else:
            at += 1
    return at
