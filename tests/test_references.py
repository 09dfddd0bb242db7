"""Docstrings and comments name files and symbols that exist: a reader who follows one finds it."""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("crawl", "tests", "scripts", "docs", "jobs")
_FILE = re.compile(r"(?<![\w.*/<…-])(?:[a-z_]+/)*[a-z_]+\.(?:py|md|toml|cfg|sh)\b(?!\.)")
_SYMBOL = re.compile(r"`([A-Z][A-Z_]{2,}|[A-Z][a-z]+(?:[A-Z][a-z]+)+)`")

OTHERS_FILES = {
    "all.toml",  # an example of the help
}
"""Of users and of other projects."""
OTHERS_SYMBOLS = {
    *("SEEDS", "URL", "KEY", "VALUE", "NAME", "DIR", "FILE", "FOLDER", "OUT", "NULL", "NOT", "WET"),
}
"""Words of command lines, of other languages and of other projects."""


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in (ROOT / folder).rglob("*.py") if not path.is_symlink())


@cache
def known_files() -> set[str]:
    """Every file of ours, by each end of its path."""
    paths = (path for path in ROOT.rglob("*") if path.is_file())
    ends: set[str] = set()
    for path in paths:
        parts = path.relative_to(ROOT).parts
        if not parts[0].startswith(".") or parts[0] == ".ci":
            ends.update("/".join(parts[at:]) for at in range(len(parts)))
    return ends


@cache
def known_symbols() -> set[str]:
    """Every name in the code, and every word in a text of it."""
    names = set(dir(builtins))
    for path in sources(*FOLDERS):
        with path.open("rb") as stream:
            for token in tokenize.tokenize(stream.readline):
                if token.type == tokenize.NAME:
                    names.add(token.string)
                elif token.type == tokenize.STRING and len(token.string) < 100:
                    names.update(re.findall(r"\w+", token.string))
    return names


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a file, each with its line."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(ast.Constant(str(said))):
                yield node.lineno, said
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_named_files_exist() -> None:
    stale = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sources("crawl", "jobs", "scripts", "docs")
        for line, text in texts(path)
        for name in _FILE.findall(text)
        if name not in known_files() and name.rpartition("/")[2] not in OTHERS_FILES
    ]
    assert stale == []


def test_named_symbols_exist() -> None:
    stale = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sources("crawl")
        for line, text in texts(path)
        for name in _SYMBOL.findall(text)
        if name not in known_symbols() | OTHERS_SYMBOLS
    ]
    assert stale == []
