"""Commands, derived from operations: nothing about a single one is said here.

What an operation declares becomes arguments and options of click; what belongs to the terminal and
not to the operation (how it is configured, where it runs, how the answer looks) is in
`face_options.py`.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import click

from crawl.cli import face_options
from crawl.cli.output import print_json, remark
from crawl.cli.terminal import TerminalObserver, print_view
from crawl.cli.url_lines import decoded_argument
from crawl.config import Config
from crawl.errors import NothingToDo, UsageError
from crawl.operations.interrupt import INTERRUPTED
from crawl.operations.operation import Asked, Due, Operation, Place
from crawl.operations.options import Face, Field, bounds_of, read_options
from crawl.operations.registry import Listed, operations_of
from crawl.operations.results import Interrupted

_LISTED = "__listed"
"""Ends the name of an option that gives an argument, too."""


def command_of(listed: Listed) -> click.Command:
    """The command that stands for one operation, or several, or a group of them."""
    operations = operations_of(listed.name)
    if not operations[0].word:
        return _command(listed.name, operations, listed.summary)
    group = click.Group(listed.name, help=_help(operations[0]), short_help=listed.summary)
    for each in operations:
        group.add_command(_command(each.word, (each,), each.summary))
    return group


def _command(name: str, operations: Sequence[Operation], summary: str) -> click.Command:
    def call(**parameters: Any) -> int:
        return _Call(operations, parameters).run()

    return click.Command(
        name,
        callback=call,
        params=[*_parameters(operations), *face_options.of(operations), _schema_option(operations)],
        help=_help(operations[0]),
        short_help=summary,
    )


def _schema_option(operations: Sequence[Operation]) -> click.Option:
    """Prints the schemas, whatever else is there or is lacking."""

    def show(context: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
        if is_asked:
            from crawl.operations.schema import schema_of

            schemas = {each.name: schema_of(each) for each in operations}
            print_json(schemas if len(schemas) > 1 else schemas[operations[0].name])
            context.exit()

    return click.Option(
        ["--schema"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Print options and result as JSON Schema, and do nothing.",
    )


def _help(operation: Operation) -> str:
    """Its help as click takes it: `\\b` keeps the lines of the examples."""
    text = inspect.cleandoc(operation.command_help or operation.help)
    if operation.examples:
        text += "\n\n\b\nExamples:\n" + "\n".join(f"  {each}" for each in operation.examples)
    return text


def _parameters(operations: Sequence[Operation]) -> Iterator[click.Parameter]:
    if operations[0].place is Place.CRAWL:
        is_optional = operations[0].is_crawl_optional
        metavar = "[CRAWL_DIR]" if is_optional else "CRAWL_DIR"
        yield click.Argument(["crawl_dir"], metavar=metavar, required=not is_optional)
    by_name: dict[str, list[Field]] = {}
    for operation in operations:
        for field in operation.fields(Face.COMMAND_LINE):
            by_name.setdefault(field.name, []).append(field)
    for fields in by_name.values():
        assert len({field.flags for field in fields}) == 1, fields[0].name
        helps = dict.fromkeys(field.help for field in fields)
        yield from _parameters_of(replace(fields[0], help=" ".join(helps)))


def _parameters_of(field: Field) -> Iterator[click.Parameter]:
    option = field.option
    if option.argument:
        shown = option.metavar or field.name.upper()
        many = field.is_repeatable
        is_required = field.is_required_on(Face.COMMAND_LINE)
        if not (option.metavar and option.metavar.startswith("[")):
            shown = shown if is_required else f"[{shown}]"
            shown = f"{shown}..." if many and not shown.endswith("...") else shown
        yield click.Argument(
            [field.name], nargs=-1 if many else 1, required=is_required, metavar=shown, default=None
        )
    if not field.flags:
        return
    name = field.name + _LISTED if option.argument else field.name
    help_text = field.help + _default_text(field)
    if field.is_flag:
        yield click.Option([*field.flags, name], is_flag=True, default=None, help=help_text)
        return
    metavar = option.metavar or _metavar(field)
    yield click.Option(
        [*field.flags, name],
        type=click.Choice(field.choices) if field.choices and not option.metavar else None,
        multiple=field.is_repeatable,
        metavar="NAME[,NAME]" if option.argument and option.commas else metavar,
        help=help_text,
    )


def _metavar(field: Field) -> str | None:
    if field.choices:
        return None
    return {int: "N", float: "NUMBER"}.get(field.kind, "TEXT")


def _default_text(field: Field) -> str:
    """The default, where the help does not tell it; no bounds, which a fault tells."""
    low, _ = bounds_of(field)
    default = field.default
    if field.option.selects or "(default" in field.help or "[default" in field.help:
        return ""
    if field.is_required:
        return "  [required]"
    if not field.option.shows_default or isinstance(default, bool) or default in (None, "", ()):
        return ""
    if isinstance(default, dict) or (default == 0 and low in (0, None)):
        return ""
    return f"  [default: {default}]"


class _Call:
    """One call of a command."""

    def __init__(self, operations: Sequence[Operation], parameters: Mapping[str, Any]) -> None:
        self._face = face_options.FaceValues.of(parameters)
        self._address = parameters.get("crawl_dir") or ""
        self._operations = operations
        self._words = _words(operations, parameters)
        self._name = click.get_current_context().info_name or ""

    def run(self) -> int:
        from crawl.declared import load_declared
        from crawl.telemetry.ambient import observed_command, scrape_address

        config = load_declared(self._face.overrides, self._face.conf, os.environ)
        with observed_command(config, self._name, self._address):
            if scrape_address() and not self._face.quiet:
                remark(f"{self._name}: metrics at {scrape_address()}")
            return self._run(config)

    @cached_property
    def _operation(self) -> Operation:
        return _selected(self._operations, self._words)

    def _run(self, config: Config) -> int:
        options = read_options(
            self._operation.options, self._words, Face.COMMAND_LINE, is_text=True
        )
        asked = Asked(options, config, self._address, self._face.if_due, self._face.quiet)
        if self._face.if_due and self._operation.due is Due.IN_ROUND:
            from crawl.rounds.due import find_due_work

            work = find_due_work(self._name, self._address, config, _segments_named(options))
            if work.code is not None:
                remark(f"{self._name}: {work.reason}")
                return work.code
            asked = replace(asked, options=_with_segments(options, work.segments))
        try:
            return self._perform(asked)
        except NothingToDo as nothing:
            if not (self._face.if_due and self._operation.due is Due.IF_ANY):
                raise
            remark(f"{self._name}: {nothing}")
            return 0

    def _perform(self, asked: Asked) -> int:
        from crawl.operations.running import perform
        from crawl.operations.work import Work
        from crawl.spark.engine import SparkEngine
        from crawl.storage.crawl_dir import CrawlDir

        observer = TerminalObserver(
            quiet=self._face.quiet or not self._shows_progress(),
            command=self._name,
            has_tables=not self._face.json,
        )
        with (
            SparkEngine(asked.config, self._face.spark(), self._name) as engine,
            self._lines(asked) as lines,
        ):
            crawl = CrawlDir(self._address) if self._address else None
            work = Work(self._name, asked.config, engine, crawl, observer, lines=lines)
            try:
                result = perform(self._operation, work, asked.options)
                if self._operation.streams:
                    with closing(result) as answers:
                        return max(
                            (self._show(each, asked, observer) for each in answers), default=0
                        )
            except Interrupted as interrupted:
                if interrupted.result is None:
                    remark(f"{self._name}: {interrupted}")
                    return INTERRUPTED
                return self._show(interrupted.result, asked, observer)
        return self._show(result, asked, observer)

    def _shows_progress(self) -> bool:
        return self._operation.uses_spark or self._operation.has_progress

    def _show(self, result: Any, asked: Asked, observer: TerminalObserver) -> int:
        operation = self._operation
        if self._face.json:
            print_json(operation.values(result, asked), indent=None if operation.streams else 1)
        if not self._face.json or operation.has_notes_for_programs:
            print_view(
                self._name,
                operation.render(result, asked),
                only_notes=self._face.json,
                is_first=not observer.has_printed,
            )
        if operation.streams:
            sys.stdout.flush()
        return operation.code(result, asked)

    @contextmanager
    def _lines(self, asked: Asked) -> Iterator[Iterator[str] | None]:
        """The lines that are answered one by one, where they come from stdin or clients."""
        face = self._face
        if face.listen is None and (face.listen_address is not None or face.keep_open):
            raise UsageError("--listen-address and --keep-client-cnx-open go with --listen")
        if face.listen is None and not face.stdin:
            yield None
            return
        from crawl.cli.line_server import LOOPBACK, Listen, incoming_urls

        listen = None
        if face.listen is not None:
            listen = Listen(face.listen, face.listen_address or LOOPBACK, face.keep_open)
        urls = asked.options.urls
        with incoming_urls(urls, from_stdin=face.stdin, listen=listen) as lines:
            yield lines


def _words(operations: Sequence[Operation], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of the operations' options: nothing is None, and arguments are bytes that
    may be no text."""
    words: dict[str, Any] = {}
    for operation in operations:
        for field in operation.fields(Face.COMMAND_LINE):
            value = parameters.get(field.name)
            listed = parameters.get(field.name + _LISTED)
            if listed:
                value = (*(value or ()), *listed)
            if value is None or value == ():
                continue
            words[field.name] = _word(field, value)
    return words


def _word(field: Field, value: Any) -> Any:
    if isinstance(value, bool):
        # `--no-filter` says false, whatever the default; a pair of flags says which
        return not value if field.is_negated else value
    if isinstance(value, str):
        return decoded_argument(value)
    texts = [decoded_argument(each) for each in value]
    if field.option.commas:
        return [name.strip() for each in texts for name in each.split(",") if name.strip()]
    return texts


def _selected(operations: Sequence[Operation], words: Mapping[str, Any]) -> Operation:
    """The operation that the given options mean; the others' must not be among them."""
    if len(operations) == 1:
        return operations[0]
    meant = [each for each in operations for field in each.selectors if _is_meant_by(field, words)]
    usual = [each for each in operations if each.selector is None]
    if len(meant) > 1 and usual:
        raise UsageError(f"{_listed_selectors(operations)} exclude each other")
    if len(meant) != 1 and not (usual and not meant):
        raise UsageError(f"give one of {_listed_selectors(operations)}")
    operation = meant[0] if meant else usual[0]
    own = {field.name for field in operation.fields(Face.COMMAND_LINE)}
    for name in words:
        if name not in own:
            raise UsageError(_misplaced(name, operations, operation))
    return operation


def _is_meant_by(selector: Field, words: Mapping[str, Any]) -> bool:
    """Whether it is given; a choice that several operations have, whether it is its own."""
    if selector.name not in words:
        return False
    return not selector.choices or words[selector.name] in selector.choices


def _listed_selectors(operations: Sequence[Operation]) -> str:
    selectors = [_spelled(field) for each in operations for field in each.selectors]
    return f"{', '.join(selectors[:-1])} and {selectors[-1]}"


def _spelled(selector: Field) -> str:
    return " ".join(filter(None, [selector.flags[0], selector.option.metavar]))


def _misplaced(name: str, operations: Sequence[Operation], operation: Operation) -> str:
    owners, flag = [], ""
    for each in operations:
        for field in each.fields(Face.COMMAND_LINE):
            if field.name == name:
                flag = field.spelled(Face.COMMAND_LINE)
                owners += [selector.flags[0] for selector in each.selectors]
    if not owners and operation.selector is not None:
        return f"{flag} does not go with {operation.selector.flags[0]}"
    place = f", not with {operation.selector.flags[0]}" if operation.selector is not None else ""
    return f"{flag} goes with {' or '.join(owners)}{place}"


def _segments_named(options: Any) -> tuple[str, ...]:
    named = getattr(options, "segments", None) or getattr(options, "segment", None) or ()
    return (named,) if isinstance(named, str) else tuple(named)


def _with_segments(options: Any, segments: tuple[str, ...]) -> Any:
    if hasattr(options, "segments"):
        return replace(options, segments=segments)
    return replace(options, segment=segments[0]) if segments else options
