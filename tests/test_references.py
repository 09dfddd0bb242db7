"""Docstrings and comments name files and symbols that exist: a reader who follows one finds it."""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from types import CodeType

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
    tops = [path for path in ROOT.iterdir() if path.name[0] != "." or path.name == ".ci"]
    ends: set[str] = set()
    for path in chain(tops, *(path.rglob("*") for path in tops if path.is_dir())):
        parts = path.relative_to(ROOT).parts
        ends.update("/".join(parts[at:]) for at in range(len(parts)))
    return ends


@cache
def known_symbols() -> set[str]:
    """Every name in the code, and every word in a short text of it: as the compiler has them, which
    takes a tenth of the time that reading tokens takes."""
    names = set(dir(builtins))
    for path in sources(*FOLDERS):
        waiting: list[object] = [compile(path.read_text(), path, "exec", dont_inherit=True)]
        while waiting:
            match waiting.pop():
                case CodeType() as code:
                    names.update(code.co_names, code.co_varnames, code.co_cellvars, (code.co_name,))
                    waiting += code.co_consts
                case tuple() as several:
                    waiting += several
                case str(text) if len(text) < 100:
                    names.update(re.findall(r"\w+", text))
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


def stale_names(pattern: re.Pattern[str], known: set[str], *folders: str) -> list[str]:
    """The names in docstrings and comments that are not known, each with its place."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sources(*folders)
        if not known.issuperset(pattern.findall(path.read_text()))
        for line, text in texts(path)
        for name in pattern.findall(text)
        if name not in known
    ]


def test_named_files_exist() -> None:
    assert (
        stale_names(_FILE, known_files() | OTHERS_FILES, "crawl", "jobs", "scripts", "docs") == []
    )


def test_named_symbols_exist() -> None:
    assert stale_names(_SYMBOL, known_symbols() | OTHERS_SYMBOLS, "crawl") == []
