"""What is wrong with a request, in the words of whoever sent it: which field it is, what may stand
there, and what was given.

msgspec, which checks the bodies and the arguments of tools, tells the place and speaks of its own
types; what is allowed at the place is read from the declaration, so that no field is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Meta, inspect

from crawl.did_you_mean import did_you_mean
from crawl.printable import printable

_EXPECTED: Final = "expected"
_LONGEST: Final = 400
_LONGEST_VALUE: Final = 60
_NULL: Final = "null"
"""What is left out leaves most fields as they are: nobody is told to give that."""
_MOST_READ_AGAIN: Final = 65_536
"""Bytes of a body that is read once more to say what was given. A larger one would cost memory that
nobody has granted it."""
_PLACE = re.compile(r"(?s)(.*) - at `\$(.*)`\Z")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]")
_FIELD = re.compile(r"(?s)Object (contains unknown|missing required) field `(.*)`\Z")


def expecting(words: str, **about: Any) -> Meta:
    """The annotation of a field: what may stand there, where its type does not say it well."""
    return Meta(extra={_EXPECTED: words}, **about)


def whole(expression: str) -> str:
    """A pattern that is to match a text from its beginning to its end. `$` alone also stands before
    a line feed at the end: to Python, though not to JSON Schema."""
    return rf"^(?:{expression})$(?!\n)"


def in_words(
    error: msgspec.ValidationError,
    kind: type[msgspec.Struct],
    what: str,
    given: Any = msgspec.UNSET,
) -> str:
    """The fault that was found when something was read as one of a kind. `what`: what the whole of
    it is called; `given`: what was given, as plain values, where that is known."""
    text = str(error)
    found = _PLACE.match(text)
    place: Any = inspect.type_info(kind) if found is None else None
    name, value = "", given
    if found is not None:
        text, place = found[1], inspect.type_info(kind)
        for step in _STEP.finditer(found[2]):
            name += f"[{step[2]}]" if step[2] else f".{step[1]}" if name else step[1]
            place, value = _type_below(place, step), _value_below(value, step)
    if field := _FIELD.match(text):
        is_missing = field[1].startswith("missing")
        return _about_field(name, field[2], place, is_missing=is_missing)
    if place is None:
        return printable(str(error), _LONGEST)
    expected = _joined([each for each in _expected(place) if each != _NULL] or [_NULL])
    got = "" if value is msgspec.UNSET else f", got {_shown(value, place)}"
    return printable(f"{name or what}: expected {expected}{got}", _LONGEST)


def plain_values(raw: bytes) -> Any:
    """What a body says, as plain values; UNSET where it is too large to be read for this alone, or
    nothing that they can hold."""
    if len(raw) > _MOST_READ_AGAIN:
        return msgspec.UNSET
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return msgspec.UNSET


def _about_field(name: str, field: str, place: Any, *, is_missing: bool) -> str:
    if is_missing:
        return printable(f"{name}.{field}: it is needed" if name else f"{field}: it is needed")
    known = [each.encode_name for each in _struct(place)]
    where = f"{name}: " if name else ""
    near = did_you_mean(field[:_LONGEST_VALUE], known)
    shown = printable(field, _LONGEST_VALUE)
    return f"{where}there is no field '{shown}'{near}; there are {', '.join(known)}"


def _members(place: Any) -> Iterable[Any]:
    """The types that a value may have, without what is said beside them."""
    if isinstance(place, inspect.Metadata):
        yield from _members(place.type)
    elif isinstance(place, inspect.UnionType):
        for each in place.types:
            yield from _members(each)
    else:
        yield place


def _struct(place: Any) -> tuple[inspect.Field, ...]:
    """The fields of the object that may stand there."""
    return next((each.fields for each in _members(place) if _is(each, inspect.StructType)), ())


def _is(place: Any, *kinds: type[inspect.Type]) -> bool:
    return isinstance(place, kinds)


def _type_below(place: Any, step: re.Match[str]) -> Any:
    """What may stand at a step further on; None where that is not known."""
    if step[2] is None:
        return next((each.type for each in _struct(place) if each.encode_name == step[1]), None)
    lists = (each for each in _members(place) if _is(each, inspect.VarTupleType))
    return next((each.item_type for each in lists), None)


def _value_below(value: Any, step: re.Match[str]) -> Any:
    try:
        return value[step[1] if step[2] is None else int(step[2])]
    except (LookupError, TypeError):
        return msgspec.UNSET


def _expected(place: Any) -> list[str]:
    """What may stand there, each kind of it by itself."""
    if isinstance(place, inspect.Metadata):
        own = (place.extra or {}).get(_EXPECTED)
        return [own] if own else _expected(place.type)
    if isinstance(place, inspect.UnionType):
        return list(dict.fromkeys(word for each in place.types for word in _expected(each)))
    return [_kind(place)]


def _kind(place: Any) -> str:
    if isinstance(place, inspect.LiteralType):
        return _joined([str(each) for each in place.values])
    if isinstance(place, inspect.IntType | inspect.FloatType):
        return _number(place)
    if isinstance(place, inspect.StrType):
        return "a text" + _length(place, "character")
    if isinstance(place, inspect.VarTupleType):
        return "a list" + _length(place, "entry")
    return _KINDS.get(type(place), "another value")


_KINDS: Final = {
    inspect.BoolType: "true or false",
    inspect.NoneType: _NULL,
    inspect.StructType: "an object",
}


def _number(place: inspect.IntType | inspect.FloatType) -> str:
    is_whole = isinstance(place, inspect.IntType) or place.multiple_of == 1
    text = "a whole number" if is_whole else "a number"
    most = "" if place.le is None else f"{place.le:,g}" if place.le < 1 else f"{int(place.le):,}"
    if place.gt is not None:
        return f"{text} above {place.gt:g}" + (f" and up to {most}" if most else "")
    if place.ge is not None:
        return f"{text} from {place.ge:g}" + (f" to {most}" if most else " on")
    return text + (f" up to {most}" if most else "")


def _length(place: inspect.StrType | inspect.VarTupleType, thing: str) -> str:
    least, most = place.min_length, place.max_length
    if not least and most is None:
        return ""
    things = {"entry": "entries"}.get(thing, f"{thing}s")
    if most is None:
        return f" of at least {least:,} {thing if least == 1 else things}"
    return f" of {least:,} to {most:,} {things}" if least else f" of at most {most:,} {things}"


def shown(value: str) -> str:
    """A text that was given, as a message repeats it."""
    return f"'{printable(value, _LONGEST_VALUE)}'"


def _shown(value: Any, place: Any) -> str:
    """What was given: how long it is, where it is too long or too short."""
    for each in _members(place):
        if isinstance(value, str) and isinstance(each, inspect.StrType) and _misses(value, each):
            return f"{len(value):,} characters" if value else "an empty text"
        if isinstance(value, list) and _is(each, inspect.VarTupleType) and _misses(value, each):
            return f"{len(value):,} entries" if value else "an empty list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        return shown(value)
    return msgspec.json.encode(value).decode()[:_LONGEST_VALUE]


def _misses(value: Any, place: Any) -> bool:
    """Whether its length is none that is allowed."""
    most = place.max_length
    return len(value) < (place.min_length or 0) or (most is not None and len(value) > most)


def _joined(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
