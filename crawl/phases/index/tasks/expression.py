"""Conditions over a document's fields, in SQL's words: which documents go to a writer.

    lang = 'de' AND (type IN ('text/html', 'application/pdf') OR boost > 2.5)
    host LIKE '%.example.org' AND NOT title IS NULL

Small on purpose: comparisons, LIKE, IN, IS NULL, AND, OR, NOT and brackets. Nothing can be
called, so that a routing file can do no harm; and it is asked of every document, in the tasks,
where there is no SQL engine. A field that a document lacks is NULL; a comparison with NULL does
not hold, and neither does its opposite. A field of several values satisfies a comparison when one
of them does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from crawl.errors import ConfigError
from crawl.model.documents import Fields, FieldValue
from crawl.printable import printable

Answer = bool | None
"""None: unknown, for a field is missing."""
Condition = Callable[[Fields], Answer]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<quoted>"[^"]+")
      | (?P<word>[A-Za-z_][\w.:-]*)
      | (?P<sign><=|>=|<>|!=|==|=|<|>|\(|\)|,)
    )""",
    re.VERBOSE,
)
_KEYWORDS = frozenset(["and", "or", "not", "in", "is", "null", "like", "true", "false", "between"])
_MAX_CHARACTERS = 10_000
_SHOWN = 200
"""Characters of a condition, in a message."""
_MAX_DEPTH = 50


class _Token(NamedTuple):
    kind: str
    """text, number, field, word, sign or end."""
    value: str


@dataclass(frozen=True)
class Expression:
    """A condition that was read; travels as its text."""

    text: str

    @classmethod
    def read(cls, text: str, origin: str) -> Expression:
        """Raises ConfigError with one line for what is no condition."""
        try:
            _Reader(text).condition()
        except ValueError as error:
            shown = printable(text, _SHOWN)
            raise ConfigError(f"{origin}: {shown!r} is no condition: {error}") from None
        return cls(text)

    def matcher(self) -> Callable[[Fields], bool]:
        """Whether a document satisfies it."""
        condition = _Reader(self.text).condition()
        return lambda fields: condition(fields) is True


class _Reader:
    def __init__(self, text: str) -> None:
        if len(text) > _MAX_CHARACTERS:
            raise ValueError(f"it has more than {_MAX_CHARACTERS:,} characters")
        self._tokens = list(_tokens(text))
        self._place = 0
        self._depth = 0

    def condition(self) -> Condition:
        condition = self._either()
        self._expect("end", "")
        return condition

    def _either(self) -> Condition:
        return self._chain("or", lambda: self._chain("and", self._negated, False), True)

    def _chain(self, word: str, part: Callable[[], Condition], decides: bool) -> Condition:
        conditions = [part()]
        while self._accept("word", word):
            conditions.append(part())
        return conditions[0] if len(conditions) == 1 else _combined(conditions, decides)

    def _negated(self) -> Condition:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        try:
            if self._accept("word", "not"):
                return _negation(self._negated())
            if self._accept("sign", "("):
                inner = self._either()
                self._expect("sign", ")")
                return inner
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Condition:
        name = self._field()
        if self._accept("word", "is"):
            is_null = not self._accept("word", "not")
            self._expect("word", "null")
            return lambda fields: (fields.get(name) is None) is is_null
        is_negated = self._accept("word", "not")
        if self._accept("word", "like"):
            return _compared(name, _like(str(self._literal())), is_negated)
        if self._accept("word", "in"):
            values = self._list()
            return _compared(name, lambda each: any(_equal(each, v) for v in values), is_negated)
        if self._accept("word", "between"):
            low = self._literal()
            self._expect("word", "and")
            high = self._literal()
            return _compared(
                name, lambda each: _ordered(le, low, each) and _ordered(le, each, high), is_negated
            )
        if is_negated:
            raise ValueError("LIKE, IN or BETWEEN must follow NOT")
        kind, sign = self._next()
        if kind != "sign" or sign in "(),":
            raise ValueError(f"a comparison must follow {name!r}, not {sign or 'the end'!r}")
        holds, value = _SIGNS.get(sign, _equal), self._literal()
        return _compared(name, lambda each: holds(each, value), sign in ("!=", "<>"))

    def _list(self) -> list[FieldValue]:
        self._expect("sign", "(")
        values = [self._literal()]
        while self._accept("sign", ","):
            values.append(self._literal())
        self._expect("sign", ")")
        return values

    def _field(self) -> str:
        kind, value = self._next()
        if kind not in ("field", "word") or (kind == "word" and value.lower() in _KEYWORDS):
            raise ValueError(f"a field must stand where {value or 'the end'!r} stands")
        return value

    def _literal(self) -> FieldValue:
        kind, value = self._next()
        if kind == "text":
            return value
        if kind == "number":
            return float(value) if re.search(r"[.eE]", value) else int(value)
        if kind == "word" and value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise ValueError(f"a text or a number must stand where {value or 'the end'!r} stands")

    def _next(self) -> _Token:
        token = self._tokens[self._place]
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def _accept(self, kind: str, value: str) -> bool:
        token = self._tokens[self._place]
        if token.kind == kind and token.value.lower() == value:
            self._next()
            return True
        return False

    def _expect(self, kind: str, value: str) -> None:
        token = self._tokens[self._place]
        if not self._accept(kind, value):
            what = value.upper() or "the end"
            raise ValueError(f"{what} must stand where {token.value or 'the end'!r} stands")


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"nothing is known that begins with {text[place:].strip()[:10]!r}")
        place = match.end()
        kind = str(match.lastgroup)
        value = match[kind]
        if kind == "text":
            value = value[1:-1].replace("''", "'")
        yield _Token("field", value[1:-1]) if kind == "quoted" else _Token(kind, value)
    yield _Token("end", "")


def _combined(conditions: list[Condition], decides: bool) -> Condition:
    """One answer that `decides` suffices; else one that is unknown leaves all of it so."""

    def combined(fields: Fields) -> Answer:
        answers = [condition(fields) for condition in conditions]
        return decides if decides in answers else (None if None in answers else not decides)

    return combined


def _negation(condition: Condition) -> Condition:
    def negated(fields: Fields) -> Answer:
        answer = condition(fields)
        return None if answer is None else not answer

    return negated


def _compared(name: str, holds: Callable[[FieldValue], bool], is_negated: bool) -> Condition:
    def compared(fields: Fields) -> Answer:
        value = fields.get(name)
        if value is None:
            return None
        answer = any(map(holds, value)) if isinstance(value, list) else holds(value)
        return answer != is_negated

    return compared


def _is_number(value: FieldValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(value: FieldValue, other: FieldValue) -> bool:
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if _is_number(value) == _is_number(other):
        return value == other
    return str(value) == str(other)


def _ordered(compared: Callable[[Any, Any], bool], value: FieldValue, other: FieldValue) -> bool:
    """A number is compared with a number, anything else as text."""
    if _is_number(value) and _is_number(other):
        return compared(value, other)
    return compared(str(value), str(other))


_SIGNS: dict[str, Callable[[FieldValue, FieldValue], bool]] = {
    sign: partial(_ordered, compared)
    for sign, compared in (("<", lt), ("<=", le), (">", gt), (">=", ge))
}
"""All others ask whether two values are equal."""


def _like(pattern: str) -> Callable[[FieldValue], bool]:
    """By parts between `%`, so that no pattern takes longer than the text is long."""
    pieces = [
        re.compile("".join("." if each == "_" else re.escape(each) for each in piece), re.DOTALL)
        for piece in pattern.split("%")
    ]

    def matches(value: FieldValue) -> bool:
        text = str(value)
        if len(pieces) == 1:
            return pieces[0].fullmatch(text) is not None
        first = pieces[0].match(text)
        if first is None:
            return False
        place = first.end()
        for piece in pieces[1:-1]:
            match = piece.search(text, place)
            if match is None:
                return False
            place = match.end()
        start = len(text) - len(pattern.rpartition("%")[2])
        return start >= place and pieces[-1].fullmatch(text, start) is not None

    return matches
