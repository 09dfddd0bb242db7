"""Writes crawl/api/methods.py: every operation as a typed, documented method, for editors.

PYTHONPATH=. .venv/bin/python scripts/api_methods.py    (a test fails where it is not fresh)
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from crawl.operations.operation import Operation, Place
from crawl.operations.options import Face, Field
from crawl.operations.registry import commands, operations_of

HOME = Path(__file__).resolve().parents[1]
TARGET = HOME / "crawl/api/methods.py"
_WIDTH = 100
_PATHS = ("FILE", "PATH", "FOLDER", "OUT", "SEEDS", "OTHER_CRAWL_DIR")

_HEAD = '''\
"""The operations as methods of a crawl, and as functions.

Written by scripts/api_methods.py from what the operations declare: change it there, and run that.
"""

# what an operation returns is what it declares, which no type checker can follow
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.api.handle import Handle, call_function

if TYPE_CHECKING:
{imports}

'''


def methods_module() -> str:
    """The module, formatted."""
    methods, functions = [], []
    imports: set[str] = set()
    for command in commands():
        if not commands()[command].module.startswith("crawl."):
            continue  # of somebody else; an editor cannot know it
        for operation in operations_of(command):
            if not operation.method_name:
                continue
            imports |= set(_imports(operation.result))
            if operation.place is Place.CRAWL:
                methods.append(_method(operation))
            else:
                functions.append(_function(operation))
    head = _HEAD.format(imports=textwrap.indent("\n".join(sorted(imports)), "    "))
    body = f'class Methods(Handle):\n    """Every operation on a crawl."""\n\n{"".join(methods)}'
    return _formatted(head + "\n".join(functions) + "\n\n" + body)


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for arguments in (["check", "--fix", "--select", "I,F401", "--quiet"], ["format", "--quiet"]):
        command = [*ruff, *arguments, "--stdin-filename", str(TARGET), "-"]
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=HOME
        )
        text = done.stdout
    return text


def _imports(result: Any) -> Iterator[str]:
    for each in (result, *get_args(result)):
        if isinstance(each, UnionType) or get_args(each):
            yield from (line for inner in get_args(each) for line in _imports(inner))
        elif inspect.isclass(each) and each.__module__.startswith("crawl."):
            yield f"from {each.__module__} import {each.__qualname__}"


def _type_text(kind: Any) -> str:
    if kind is type(None):
        return "None"
    if isinstance(kind, UnionType):
        return " | ".join(map(_type_text, get_args(kind)))
    if get_origin(kind) is not None:
        inside = ", ".join("..." if each is ... else _type_text(each) for each in get_args(kind))
        return f"{get_origin(kind).__name__}[{inside}]"
    return "Any" if kind is Any else str(kind.__name__)


def _method(operation: Operation) -> str:
    parameters = ", ".join(["self", *_parameters(operation)])
    result = _type_text(operation.result)
    command, name = operation.command_name, operation.name
    return (
        f"    def {operation.method_name}({parameters}) -> {result}:\n"
        f"{_docstring(operation, 8)}"
        f"        return self._do({command!r}, {name!r}, locals())\n\n"
    )


def _function(operation: Operation) -> str:
    given = list(_parameters(operation))
    if "*" not in given:
        given.append("*")
    given += ["settings: Mapping[str, object] | None = None", "conf: str | Path | None = None"]
    result = _type_text(operation.result)
    command, name = operation.command_name, operation.name
    return (
        f"def {operation.method_name}({', '.join(given)}) -> {result}:\n"
        f"{_docstring(operation, 4)}"
        f"    return call_function({command!r}, {name!r}, locals())\n\n"
    )


def _parameters(operation: Operation) -> Iterator[str]:
    fields = operation.fields(Face.API)
    placed = [each for each in fields if each.option.argument or each.option.positional]
    named = [each for each in fields if each not in placed]
    yield from map(_parameter, sorted(placed, key=lambda each: not each.is_required))
    if named:
        yield "*"
    yield from map(_parameter, sorted(named, key=lambda each: not each.is_required))


def _parameter(field: Field) -> str:
    is_path = field.option.metavar.rstrip(".") in _PATHS
    text = "str | Path" if is_path else "str"
    names: dict[Any, str] = {bool: "bool", int: "int", float: "float", str: text}
    usual = "str" if field.choices else "Mapping[str, str]"
    kind = " | ".join(names.get(each, usual) for each in field.kinds)
    if field.is_repeatable:
        kind = f"Iterable[{text}] | {text}"
    if field.may_be_none:
        kind += " | None"
    if field.is_required:
        return f"{field.name}: {kind}"
    default = field.default
    if field.choices and default is not None:
        default = str(default)
    return f"{field.name}: {kind} = {default!r}"


def _docstring(operation: Operation, indent: int) -> str:
    paragraphs = [_for_python(each, operation) for each in _paragraphs(operation.help)]
    said = [
        f"{_spelled(field)}: {_for_python(field.help, operation)}"
        for field in operation.fields(Face.API)
    ]
    lines = [_wrapped(each, indent) for each in [*paragraphs, *said]]
    if operation.calls:
        lines.append("\n".join(f">>> {each}" for each in operation.calls))
    text = "\n\n".join(lines)
    text = textwrap.indent(text, " " * indent, lambda line: bool(line.strip()))
    prefix = "r" if "\\" in text else ""
    return f'{" " * indent}{prefix}"""{text.strip()}\n{" " * indent}"""\n'


def _spelled(field: Field) -> str:
    """The parameter, with the value that its help tells of."""
    return f"`{field.name}=False`" if field.is_negated else f"`{field.name}`"


def _paragraphs(text: str) -> list[str]:
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n", inspect.cleandoc(text))]


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(text, _WIDTH - indent - 3, break_long_words=False, break_on_hyphens=False)


def _for_python(text: str, operation: Operation) -> str:
    """The words of the command line as Python's."""
    for field in operation.fields(Face.API):
        for flag in (each for pair in field.flags for each in pair.split("/")):
            text = re.sub(rf"{re.escape(flag)}(?![\w-])", _spelled(field), text)
    return text.replace(" of CRAWL_DIR", " of the crawl").replace("CRAWL_DIR", "the crawl's folder")


if __name__ == "__main__":
    TARGET.write_text(methods_module())
