"""One place for each option: what the registry declares is what every face has, and no face has
anything of its own."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import click
import pytest

import crawl
from crawl.api import methods
from crawl.api.crawl import Crawl
from crawl.cli import face_options
from crawl.cli.derived import command_of
from crawl.operations.operation import Operation, Place
from crawl.operations.options import Face, Field
from crawl.operations.registry import OURS, operations_of
from crawl.operations.schema import schema_of
from tests.docs.pages import ROOT

sys.path.insert(0, str(ROOT / "docs"))
sys.path.insert(0, str(ROOT / "scripts"))

from api_methods import TARGET, methods_module
from reference import PAGES

OPERATIONS = [(command, each) for command in OURS for each in operations_of(command)]
IDS = [each.name for _, each in OPERATIONS]

NOT_OPERATIONS = {
    *("address", "start", "close"),  # the handle itself
    *("crawldb", "hostdb", "host_ranks", "linkdb", "pages", "segments", "segment", "dataframe"),
}
"""Public names of a crawl beside its operations: tables, for programs to read."""


def click_command(command: str, operation: Operation) -> click.Command:
    made = command_of(OURS[command])
    return made.commands[operation.word] if isinstance(made, click.Group) else made


def own_parameters(
    made: click.Command, operations: tuple[Operation, ...]
) -> Iterator[click.Parameter]:
    """What the command line has beside what belongs to every command."""
    shared = {each.name for each in face_options.of(operations)} | {"schema", "help"}
    return (each for each in made.params if each.name not in shared)


@pytest.mark.parametrize("command", OURS)
def test_a_command_has_the_options_that_are_declared(command: str) -> None:
    made = command_of(OURS[command])
    if isinstance(made, click.Group):  # each of its words is an operation
        assert set(made.commands) == {each.word for each in operations_of(command)}
        for operation in operations_of(command):
            has_the_options(made.commands[operation.word], (operation,))
    else:
        has_the_options(made, operations_of(command))


def has_the_options(made: click.Command, operations: tuple[Operation, ...]) -> None:
    """What the operations declare, and nothing else."""
    declared: dict[str, Field] = {}
    for operation in operations:
        declared |= {each.name: each for each in operation.fields(Face.COMMAND_LINE)}
    names = set(declared) | ({"crawl_dir"} if operations[0].place is Place.CRAWL else set())
    parameters = list(own_parameters(made, operations))
    assert {str(each.name).removesuffix("__listed") for each in parameters} == names
    for each in parameters:
        field = declared.get(str(each.name).removesuffix("__listed"))
        if isinstance(each, click.Option):
            assert field is not None and field.help in (each.help or "")
            spelled = {name for flag in field.flags for name in flag.split("/")}
            assert spelled == {*each.opts, *each.secondary_opts}


@pytest.mark.parametrize(("command", "operation"), OPERATIONS, ids=IDS)
def test_a_method_has_the_options_that_are_declared(command: str, operation: Operation) -> None:
    if not operation.method_name:
        return
    declared = {each.name: each for each in operation.fields(Face.API)}
    if operation.place is Place.CRAWL:
        method, others = getattr(Crawl, operation.method_name), {"self"}
    else:
        method, others = getattr(crawl, operation.method_name), {"settings", "conf"}
    parameters = inspect.signature(method).parameters
    assert set(parameters) - others == set(declared)
    for name, field in declared.items():
        said = f"`{name}=False`: " if field.is_negated else f"`{name}`: "
        assert said in method.__doc__
        if field.is_required:
            assert parameters[name].default is inspect.Parameter.empty
        else:
            assert parameters[name].default == field.default


def test_the_methods_are_written_anew() -> None:
    assert TARGET.read_text() == methods_module(), "run scripts/api_methods.py"


def test_a_crawl_has_no_other_methods() -> None:
    derived = {each.method_name for _, each in OPERATIONS if each.place is Place.CRAWL}
    public = {name for name in dir(Crawl) if not name.startswith("_")}
    assert public == {name for name in derived if name} | NOT_OPERATIONS
    functions = {name for name, _ in inspect.getmembers(methods, inspect.isfunction)}
    wanted = {each.method_name for _, each in OPERATIONS if each.place is Place.NOWHERE}
    assert functions - {"call_function"} == {name for name in wanted if name}


@pytest.mark.parametrize(("command", "operation"), OPERATIONS, ids=IDS)
def test_the_schema_has_the_options_that_are_declared(command: str, operation: Operation) -> None:
    schema: dict[str, Any] = schema_of(operation)
    options = schema["properties"]["options"]
    if "$ref" in options:
        options = schema["$defs"][options["$ref"].rpartition("/")[2]]
    declared = {each.name: each for each in operation.fields(Face.BOTH)}
    assert options["properties"].keys() == declared.keys()
    for name, field in declared.items():
        said = options["properties"][name]
        expected = f"If it is false: {field.help}" if field.is_negated else field.help
        assert said["description"] == expected
        assert ("default" in said) is not field.is_required
    assert "result" in schema["properties"]


def test_the_reference_has_all_of_it() -> None:
    commands, api = PAGES["commands"](), PAGES["api"]()
    for command, operation in OPERATIONS:
        section = commands[commands.index(f"## crawl {command}\n") :]
        for field in operation.fields(Face.COMMAND_LINE):
            for flag in field.flags:
                assert flag.split("/")[0] in section, (command, flag)
        if operation.method_name:
            place = "Crawl" if operation.place is Place.CRAWL else "crawl"
            assert f"### {place}.{operation.method_name}\n" in api


def test_no_file_of_the_command_line_declares_an_option() -> None:
    """But for those that make options of declarations, and those of every command."""
    makers = {"derived.py", "face_options.py"}
    for path in (ROOT / "crawl" / "cli").rglob("*.py"):
        called = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        made = called & {"option", "argument", "Option", "Argument", "command", "Command"}
        assert path.name in makers or not made, path


def test_every_declaration_is_registered() -> None:
    modules = {listed.module for listed in OURS.values()}
    for path in (ROOT / "crawl").rglob("operation.py"):
        if path.parent.name != "operations":
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            assert module in modules, module


@pytest.mark.parametrize(("command", "operation"), OPERATIONS, ids=IDS)
def test_an_operation_says_what_it_does_and_how_it_is_called(
    command: str, operation: Operation
) -> None:
    assert operation.help.strip() and operation.command_name == command
    assert operations_of(command)[0].examples
    if operation.method_name:
        called = "web." if operation.place is Place.CRAWL else "crawl."
        assert operation.calls and any(called in each for each in operation.calls)
    for field in operation.fields(Face.BOTH):
        assert field.help and field.help[0].isupper(), field.name
