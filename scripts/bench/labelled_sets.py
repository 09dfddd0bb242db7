"""Public sets of real pages whose main text people have marked, from a folder that has one.

Two forms are read, as their authors lay them out: passages that belong to the main text and that do
not (go-trafilatura, `scripts/comparison/data.go` beside `test-files/`: trafilatura's own set), and
the main content as HTML (go-readability, `test-pages/*/expected.html`: Mozilla's). They cannot be
shipped with the project; as Go modules `go mod download` brings them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crawl.html.encoding import decode
from crawl.parsing.text.charset import charset_of

_ENTRY = re.compile(r'File:\s*("(?:\\.|[^"\\])*")(.*?)\n\t\}', re.S)
_LIST = r'%s:\s*\[\]string\{((?:\s*"(?:\\.|[^"\\])*",?)*)'
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Passages:
    """A page, passages of its main text, and passages of what is around that."""

    html: str
    inside: tuple[str, ...]
    outside: tuple[str, ...]


@dataclass(frozen=True)
class Marked:
    """A page and its main content as HTML."""

    html: str
    content: str


def passages(folder: Path) -> Iterator[Passages]:
    """Of the set with passages; none where the folder has none."""
    for listed in folder.rglob("comparison/data.go"):
        pages = {path.name: path for path in folder.rglob("test-files/**/*.html")}
        for name, rest in _ENTRY.findall(listed.read_text(encoding="utf-8")):
            page = pages.get(json.loads(name))
            if page is not None:
                yield Passages(_text(page), _strings("With", rest), _strings("Without", rest))


def marked(folder: Path) -> Iterator[Marked]:
    """Of the set with main content; none where the folder has none."""
    for expected in sorted(folder.rglob("test-pages/*/expected.html")):
        source = expected.with_name("source.html")
        if source.exists():
            yield Marked(_text(source), _text(expected))


def precision_and_recall(
    pages: list[Passages], extract: Callable[[str], str | None]
) -> tuple[float, float]:
    """Of the passages that are found how many belong there, and of those that belong there how many
    are found."""
    found = wrong = wanted = 0
    for page in pages:
        text = _plain(extract(page.html) or "")
        found += sum(_plain(each) in text for each in page.inside)
        wrong += sum(_plain(each) in text for each in page.outside)
        wanted += len(page.inside)
    return found / max(1, found + wrong), found / max(1, wanted)


def _strings(name: str, rest: str) -> tuple[str, ...]:
    listed = re.search(_LIST % name, rest)
    return tuple(map(json.loads, _STRING.findall(listed[1]))) if listed else ()


def _text(path: Path) -> str:
    body = path.read_bytes()
    return decode(body, charset_of(body, "text/html"))


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()
