"""Operation: one capability of the crawler, of which every face is derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec

from crawl.operations.options import Face, Field, fields_of
from crawl.operations.view import View

if TYPE_CHECKING:
    from crawl.config import Config
    from crawl.operations.work import Work


class Place(Enum):
    """What an operation is about."""

    CRAWL = auto()
    """A crawl's folder: the first argument of its command, and a method of a crawl."""
    NOWHERE = auto()
    """No crawl: a function of the package, if it is one of the API at all."""


class Due(Enum):
    """What `--if-due` means, by which schedulers call an operation when in doubt."""

    NEVER = auto()
    """There is no such option."""
    IN_ROUND = auto()
    """It is a step of a round: it works on what the crawl's folder calls for."""
    IF_ANY = auto()
    """It knows itself what is left to do; nothing to do is no fault."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The call whose result is shown."""

    options: Any
    config: Config
    address: str = ""
    """The crawl's folder, as it was named."""
    is_if_due: bool = False
    is_quiet: bool = False


def plain_values(result: Any, asked: Asked) -> Any:
    """The result itself: numbers, texts, lists, and values of dataclasses as JSON has them."""
    return msgspec.to_builtins(result, enc_hook=str)


def done_well(result: Any, asked: Asked) -> int:
    """The exit code of what cannot come to nothing."""
    return 0


def driver_check(package: str | None) -> Callable[[Config, Any], None]:
    """The `check` of a phase's driver, the module `run` of its package, which is imported when it
    is asked."""

    def check(config: Config, options: Any) -> None:
        import_module(f"{package}.run").check(config, options)

    return check


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A capability: what may be asked, what is done, what comes out, and how that is shown.

    `run` imports what it works with when it is called, so that the declaration costs nothing.
    """

    name: str
    run: Callable[[Work, Any], Any]
    """Does it. Its signature tells what may be asked and what comes out. What is wrong, with the
    options or the crawl, is a CrawlError, raised before anything slow is started."""
    help: str
    """What it does, in paragraphs parted by empty lines, for the users of every face."""
    render: Callable[[Any, Asked], View]
    """What people are shown of a result."""
    summary: str = ""
    """One line of help; of our own the registry has it, so that it can be read without the rest."""
    examples: Sequence[str] = ()
    """Command lines."""
    calls: Sequence[str] = ()
    """The same in Python."""
    options: Any = None
    """A frozen dataclass whose fields are options (options.py); by default the type of what `run`
    is given."""
    result: Any = None
    """The type of the result, plain data; by default what `run` says that it returns. Of an
    operation that `streams`, the type of one answer."""
    check: Callable[[Config, Any], None] | None = None
    """Raises what is wrong with options and settings, without a look at the crawl; whoever plans to
    run it later asks."""
    values: Callable[[Any, Asked], Any] = plain_values
    """The result for programs, ready for JSON."""
    code: Callable[[Any, Asked], int] = done_well
    """The exit code: 0 where it came to something."""
    place: Place = Place.CRAWL
    is_crawl_optional: bool = False
    """Whether the command does without a crawl's folder where its options say enough."""
    uses_spark: bool = False
    """Whether it may start Spark: then it takes a master, and is a job for spark-submit."""
    has_progress: bool = False
    """Whether it shows how far it is, and can be told to be quiet, without Spark too."""
    due: Due = Due.NEVER
    has_notes_for_programs: bool = False
    """Whether the notes of its view are shown, too, where the answer is JSON."""
    streams: bool = False
    """Whether `run` yields an answer for each of the URLs that are asked for (`Work.lines`)."""
    command: str = ""
    """The command that stands for it and others, one of which an option selects."""
    command_help: str = ""
    """What such a command does, of the first of its operations."""
    word: str = ""
    """The word behind the command, where that is a group of commands."""
    method: str | None = None
    """Its name in the API, where that is not its own; empty: it is not in the API."""

    def __post_init__(self) -> None:
        """Takes from the signature of `run` what was not declared besides."""
        if self.options is not None and self.result is not None:
            return
        # Work may be imported for type checkers alone
        hints = list(get_type_hints(self.run, localns={"Work": Any}).values())
        if len(hints) != 3:
            raise TypeError(f"{self.name}: `run` does not say what it is given and returns")
        result = get_args(hints[2])[0] if self.streams else hints[2]
        object.__setattr__(self, "options", self.options or hints[1])
        object.__setattr__(self, "result", self.result or result)

    @property
    def command_name(self) -> str:
        return self.command or self.name

    @property
    def method_name(self) -> str:
        return self.name if self.method is None else self.method

    def fields(self, face: Face) -> list[Field]:
        """The options that a face has."""
        return [each for each in fields_of(self.options) if each.is_on(face)]

    @property
    def selectors(self) -> list[Field]:
        """The options by any of which a command of several operations means this one."""
        return [each for each in fields_of(self.options) if each.option.selects]

    @property
    def selector(self) -> Field | None:
        """The first of them."""
        return next(iter(self.selectors), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions:
    """Nothing can be chosen."""
