"""The Python API, from its signatures and docstrings."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import crawl
from reference.attributes import texts_below
from reference.markdown import block, code, prose, sentence, table

_INTRODUCTION = """\
# Python API

`import crawl` loads neither pyspark nor pyarrow: what is behind a name is loaded when it is first
used. Nothing here prints to stdout. Errors are [crawl.CrawlError](exit-codes.md#exceptions) and its
subclasses. Everything on this page is covered by the [stability promise](../stability.md).
"""
_WIDTH = 92
_WITH_METHODS = ("AsyncClient", "AsyncSiteCrawl", "Client", "Running", "SiteCrawl", "Table")
"""Results that are no dataclasses."""


def api_page() -> str:
    """The page."""
    parts = [_INTRODUCTION, "## Functions\n"]
    parts.extend(_callable(f"crawl.{each.__name__}", each) for each in _functions())
    parts.append("## A crawl\n")
    parts.append("What `crawl.open` returns.\n")
    for base in _topics():
        parts.extend(_callable(f"Crawl.{name}", each) for name, each in _methods(base))
    parts.append("## Results\n")
    for kind in result_types():
        parts.append(_result(kind))
    return "\n".join(parts)


def public_callables() -> Iterator[tuple[str, Any]]:
    """Every function and method of the page, by name."""
    for each in _functions():
        yield f"crawl.{each.__name__}", each
    for base in _topics():
        for name, each in _methods(base):
            yield f"Crawl.{name}", each


def _topics() -> list[type]:
    """The classes that Crawl is made of, as a reader meets them: the phases before the rounds."""
    bases = [each for base in crawl.Crawl.__bases__ for each in reversed(base.__mro__)]
    return [crawl.Crawl, *dict.fromkeys(bases)]


def result_types() -> list[type]:
    """The classes of ours that methods return, and that these lead to."""
    types: dict[str, type] = {}
    waiting = [each for _, each in public_callables()]
    while waiting:
        each = waiting.pop(0)
        for kind in _named_in(each):
            if kind.__name__ not in types and kind is not crawl.Crawl:
                types[kind.__name__] = kind
                waiting.extend(method for _, method in _methods(kind))
                waiting.extend([kind] if dataclasses.is_dataclass(kind) else [])
    return [types[name] for name in sorted(types)]


def _functions() -> list[Any]:
    """The public functions, in the order of the source."""
    functions = [getattr(crawl, name) for name in crawl.__all__]
    return sorted(
        filter(inspect.isfunction, functions), key=lambda each: each.__code__.co_firstlineno
    )


def _named_in(each: Any) -> Iterator[type]:
    """Classes of this package in the annotations of a function's result or a class's fields."""
    if dataclasses.is_dataclass(each):
        public = [field for field in dataclasses.fields(each) if not field.name.startswith("_")]
        texts = [str(field.type) for field in public if field.repr]
    else:
        texts = [str(inspect.signature(each).return_annotation)]
    names = _names_of(each.__module__)
    for word in re.findall(r"\w+", " ".join(texts)):
        kind: Any = names.get(word)
        is_ours = inspect.isclass(kind) and kind.__module__.startswith("crawl.")
        if is_ours and (dataclasses.is_dataclass(kind) or word in _WITH_METHODS):
            yield kind


def _names_of(module: str) -> dict[str, Any]:
    """The names that annotations of a module use, those too that only type checkers import."""
    names = dict(vars(sys.modules[module]))
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crawl."):
            home = import_module(node.module or "")
            names |= {each.name: vars(home).get(each.name) for each in node.names}
    return names


def _methods(kind: type) -> list[tuple[str, Any]]:
    """Public methods that the class itself defines, in the order of the source."""
    if not kind.__module__.startswith("crawl."):
        return []
    return [
        (name, value)
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_") and value.__doc__
    ]


class _Bare(str):
    """An annotation that is shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _callable(name: str, each: Any) -> str:
    signature = inspect.signature(each)
    parameters = [
        parameter.replace(annotation=_Bare(parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    result = _Bare(signature.return_annotation)
    line = name + str(inspect.Signature(parameters, return_annotation=result))
    if len(line) > _WIDTH:
        inside = str(inspect.Signature(parameters))[1:-1]
        # commas inside brackets do not part parameters
        parts = re.split(r", (?![^\[\]()]*[\])])", inside)
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f") -> {result}"
    return f"### {name}\n\n{block(line, 'python')}\n{docstring(inspect.getdoc(each) or '')}"


def docstring(text: str) -> str:
    """A docstring as Markdown: paragraphs, and examples as blocks."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = inspect.cleandoc(paragraph).splitlines()
        if lines and lines[0].startswith(">>>"):
            typed = [re.sub(r"^(>>>|\.\.\.) ?", "", line) for line in lines]
            parts.append(block("\n".join(typed), "python"))
        else:
            parts.append(prose(" ".join(lines)) + "\n")
    return "\n".join(parts)


def _result(kind: type) -> str:
    parts = [f"### {kind.__name__}\n", docstring(_own_doc(kind))]
    if dataclasses.is_dataclass(kind):
        about = _field_docs(kind)
        rows = [
            (code(field.name), code(field.type), prose(sentence(about.get(field.name, ""))))
            for field in dataclasses.fields(kind)
            if not field.name.startswith("_")
        ]
        parts.append(table(["field", "type", "meaning"], rows))
    methods = [
        (code(f"{name}{_short(each)}"), prose(sentence((each.__doc__ or "").split("\n\n")[0])))
        for name, each in _methods(kind)
    ]
    if methods:
        parts.append(table(["method", "what it does"], methods))
    return "\n".join(parts)


def _own_doc(kind: type) -> str:
    text = inspect.getdoc(kind) or ""
    # a dataclass without a docstring gets its signature for one
    return "" if text.startswith(f"{kind.__name__}(") else text


def _short(each: Any) -> str:
    names = [p for p in inspect.signature(each).parameters.values() if p.name != "self"]
    variadic = inspect.Parameter
    stars: dict[Any, str] = {variadic.VAR_POSITIONAL: "*", variadic.VAR_KEYWORD: "**"}
    return "(" + ", ".join(stars.get(p.kind, "") + p.name for p in names) + ")"


def _field_docs(kind: type) -> dict[str, str]:
    """The texts below the fields of a dataclass."""
    (definition,) = ast.parse(inspect.cleandoc(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    return texts_below(definition.body)
