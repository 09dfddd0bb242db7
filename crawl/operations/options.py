"""Options, declared once: as the fields of a dataclass, from which every face is derived.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class DedupOptions:
        near: Annotated[str | None, option("Also mark pages that …", metavar="MEASURE")] = None
        urls: Annotated[Natural, option("Name so many of them.")] = 10

The type says what may be given, its `Meta` the bounds, `option` the help and how the command line
spells it. msgspec carries it, as it checks and describes (JSON Schema) plain annotated dataclasses,
is needed for the crawl's files anyway, loads in a millisecond, and is part of Airflow, which reads
the options of `run` where nothing else of the crawler is installed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, Flag, auto
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError

Options = TypeVar("Options")

Positive = Annotated[int, Meta(ge=1)]
"""A whole number from 1 on."""
Natural = Annotated[int, Meta(ge=0)]
"""A whole number from 0 on."""

REQUIRED = dataclasses.MISSING


class Face(Flag):
    """Where an option may be given."""

    COMMAND_LINE = auto()
    API = auto()
    BOTH = COMMAND_LINE | API


@dataclass(frozen=True, slots=True)
class Option:
    """What is said of an option beside its type, default and help."""

    flags: tuple[str, ...] = ()
    """How the command line spells it; by default after the field's name, with `--no-` before it
    where the default is true."""
    metavar: str = ""
    argument: bool = False
    """Whether the command line takes it without a flag. In the API it is positional, too."""
    positional: bool = False
    """Whether it is positional in the API, whatever it is on the command line."""
    faces: Face = Face.BOTH
    commas: bool = False
    """Whether one word of the command line may have several, with commas between them."""
    parse: Callable[[str], object] | None = None
    """Reads a word of the command line that is not written as JSON has it: `84kB`, `a=b&c=d`."""
    nutch: str = ""
    """What Nutch calls it, where that is not just the same words."""
    selects: bool = False
    """Whether a command that stands for several operations means this one where it is given."""
    shows_default: bool = True
    required_on: Face | None = None
    """The face that must be given it, though it has a default for the other."""


def option(help: str, *flags: str, **about: Any) -> Meta:
    """The annotation of a field that makes it an option; `about`: what else Option has."""
    return Meta(description=help, extra={"option": Option(flags, **about)})


def selector(help: str, **about: Any) -> Meta:
    """An option of the command line alone, by which a command of several operations means this
    one."""
    return option(help, selects=True, faces=Face.COMMAND_LINE, **about)


def subject(help: str, *flags: str, **about: Any) -> Meta:
    """What an operation is about, such as a URL: positional in the API; on the command line it is
    the option by which a command of several operations means this one."""
    return option(help, *flags, positional=True, selects=True, **about)


StealLock = Annotated[bool, option("Take the lock even if its owner seems to be alive.")]
Segments = Annotated[
    tuple[str, ...],
    option(
        "These segments (repeatable): the same as SEGMENT arguments.",
        "--segments",
        metavar="SEGMENT",
        argument=True,
        commas=True,
    ),
]
"""Arguments, and `--segments NAME[,NAME]`, which says the same."""
NumFetchers = Annotated[
    Positive | None,
    option(
        "Parts of a fetch list, each fetched by a task (default: one a task slot of the cluster)."
    ),
]
SnapshotNumber = Annotated[int | None, option("Read this snapshot instead of the current.")]


@dataclass(frozen=True, slots=True)
class Field:
    """An option as it was declared."""

    name: str
    type: Any
    """With its annotations, for msgspec."""
    help: str
    default: object
    """REQUIRED where there is none."""
    option: Option

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a value may have, without annotations and None."""
        return tuple(each for each in _members(self.type) if each is not NoneType)

    @property
    def kind(self) -> Any:
        """The type of a value: bool, int, float, str, an enum, tuple or dict."""
        kind = self.kinds[0]
        return get_origin(kind) or kind

    @property
    def may_be_none(self) -> bool:
        return NoneType in _members(self.type)

    @property
    def is_flag(self) -> bool:
        return self.kind is bool

    @property
    def is_repeatable(self) -> bool:
        return self.kind is tuple

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that an enum has."""
        if isinstance(self.kind, type) and issubclass(self.kind, Enum):
            return tuple(str(each.value) for each in self.kind)
        return ()

    @property
    def flags(self) -> tuple[str, ...]:
        """How the command line spells it; empty for an argument that has no flag as well."""
        if self.option.flags or self.option.argument:
            return self.option.flags
        dashed = self.name.replace("_", "-")
        return (f"--no-{dashed}" if self.default is True else f"--{dashed}",)

    @property
    def is_negated(self) -> bool:
        """Whether the flag says false, and the help what follows then: `--no-filter`, and any flag
        of what is true by default, but for a pair of flags."""
        if not (self.is_flag and self.flags):
            return False
        first = self.flags[0]
        return first.startswith("--no-") or (self.default is True and "/" not in first)

    def is_required_on(self, face: Face) -> bool:
        return self.is_required or self.option.required_on is face

    def is_on(self, face: Face) -> bool:
        return bool(self.option.faces & face)

    def spelled(self, face: Face) -> str:
        """How a user of the face calls it."""
        if face is Face.API:
            return self.name
        return self.flags[-1] if self.flags else self.option.metavar or self.name.upper()


def fields_of(options: Any) -> tuple[Field, ...]:
    """The options of a class, in the order of their declaration."""
    return _fields_of(options)


@cache
def _fields_of(options: Any) -> tuple[Field, ...]:
    hints = get_type_hints(options, include_extras=True)
    return tuple(_field(each, hints[each.name]) for each in dataclasses.fields(options))


def _field(each: dataclasses.Field[Any], hint: Any) -> Field:
    about = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Meta)]
    (declared,) = [note for note in about if note.extra and "option" in note.extra]
    default = each.default
    if default is REQUIRED and each.default_factory is not REQUIRED:
        default = each.default_factory()
    return Field(
        each.name, hint, declared.description or "", default, (declared.extra or {})["option"]
    )


def read_options(
    options: type[Options], arguments: Mapping[str, object], face: Face, *, is_text: bool = False
) -> Options:
    """The options that were given, checked; what is wrong with one is a UsageError, which says the
    same to the users of every face. `is_text`: values are words of a command line."""
    fields = {field.name: field for field in fields_of(options) if field.is_on(face)}
    for name in arguments:
        if name not in fields:
            raise UsageError(f"no option {name!r}{did_you_mean(name, fields)}")
    values = {
        name: read_value(fields[name], value, face, is_text=is_text)
        for name, value in arguments.items()
    }
    for name, field in fields.items():
        if field.is_required_on(face) and name not in values:
            raise UsageError(f"{field.spelled(face)}: it is needed")
    return options(**values)


def read_value(field: Field, value: object, face: Face, *, is_text: bool = False) -> object:
    """The value of an option; UsageError where it is none."""
    if value is None and not field.may_be_none:
        raise UsageError(f"{field.spelled(face)}: it is needed, and is None")
    try:
        if is_text and field.option.parse is not None and isinstance(value, str):
            value = field.option.parse(value)
        read = msgspec.convert(_plain(field, value), field.type, strict=not is_text)
        if read != read:  # within all bounds to msgspec, and no number to anybody
            raise ValueError
        return read
    except (msgspec.ValidationError, ValueError, TypeError):
        expected = expected_text(field)
        got = repr(value)
        if isinstance(value, Mapping):  # one of its values may be a password
            got = f"a mapping of {', '.join(map(repr, value)) or 'nothing'}"
        raise UsageError(f"{field.spelled(face)}: expected {expected}, got {got}") from None
    except UsageError as error:
        raise UsageError(f"{field.spelled(face)}: {error}") from None


def checked(name: str, kind: Any, value: object) -> Any:
    """What a caller passed that is no option of an operation, as one of a kind; or UsageError."""
    return read_value(Field(name, kind, "", REQUIRED, Option()), value, Face.API)


def _plain(field: Field, value: object) -> object:
    """What callers of the API may give for it: paths for texts, one text for a list of them."""
    if field.is_repeatable:
        if isinstance(value, str | Path):
            value = (value,)
        if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
            raise TypeError
        return [str(each) if isinstance(each, Path) else each for each in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and field.kind is int:
        raise TypeError
    return dict(value) if isinstance(value, Mapping) else value


def expected_text(field: Field) -> str:
    """What may be given, in words."""
    if field.choices:
        return f"one of {', '.join(field.choices)}"
    words: dict[Any, str] = {
        bool: "true or false",
        str: "a text",
        tuple: "a list of texts",
        dict: "texts by name",
        int: "a whole number",
        float: "a number",
    }
    text = " or ".join(words.get(get_origin(kind) or kind, "texts by name") for kind in field.kinds)
    low, high = bounds_of(field)
    if low is not None and any(meta.gt is not None for meta in _metas(field.type)):
        return f"{text} above {low:,}" + ("" if high is None else f" and up to {high:,}")
    if low is not None and high is not None:
        return f"{text} from {low:,} to {high:,}"
    if low is not None:
        return f"{text} of at least {low:,}"
    return f"{text} of at most {high:,}" if high is not None else text


def bounds_of(field: Field) -> tuple[float | None, float | None]:
    """The least and the greatest value of a number, where there are such."""
    low = high = None
    for meta in _metas(field.type):
        low = next((each for each in (meta.ge, meta.gt, low) if each is not None), None)
        high = next((each for each in (meta.le, meta.lt, high) if each is not None), None)
    return low, high


def _metas(hint: Any) -> Iterable[Meta]:
    if get_origin(hint) is Annotated:
        yield from (note for note in hint.__metadata__ if isinstance(note, Meta))
        yield from _metas(get_args(hint)[0])
    elif get_origin(hint) in (Union, UnionType):
        for each in get_args(hint):
            yield from _metas(each)


def _members(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) is Annotated:
        return _members(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return tuple(member for each in get_args(hint) for member in _members(each))
    return (hint,)
