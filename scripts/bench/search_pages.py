"""Pages of real documentation for the search bench: Debian's packages, parsed as in a crawl.

A package is fetched by apt-get into the folder that is given, once; pages are parsed once too and
kept beside it. Of translated manuals only the pages that are translated count: the others are
copies of the English ones, and a query would have several right answers.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crawl.config import Config
from crawl.maincontent.extract import extract
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process.sandbox import Sandbox

PACKAGES = {
    "postgresql-doc-15": ("postgresql.example", "usr/share/doc/postgresql-doc-15/html"),
    "sqlite3-doc": ("sqlite.example", "usr/share/doc/sqlite3"),
    "python3.11-doc": ("python.example", "usr/share/doc/python3.11/html"),
    "git-doc": ("git.example", "usr/share/doc/git-doc"),
    "apache2-doc": ("apache.example", "usr/share/doc/apache2-doc/manual"),
    "debian-reference-en": ("debian.example", "usr/share/debian-reference"),
    "debian-reference-de": ("debian.example", "usr/share/debian-reference"),
    "debian-reference-fr": ("debian.example", "usr/share/debian-reference"),
    "debian-reference-ja": ("debian.example", "usr/share/debian-reference"),
}
"""Package → the host that its pages are said to be of, and the folder that is its root."""

_LANGUAGE = re.compile(rb"<html[^>]* lang=\"([a-z-]+)\"")
_FETCHED_MS = 1_700_000_000_000
_VERSION = 1
_BATCH = 50


@dataclass(frozen=True, slots=True)
class BenchPage:
    """A page as its parse has it."""

    url: str
    title: str
    text: str
    main_text: str
    language: str
    links: tuple[tuple[str, str], ...]
    """The URL and the text of each link."""


def documentation(folder: Path) -> list[BenchPage]:
    """All pages, in the order of their URLs."""
    kept = folder / f"pages-{_VERSION}.pickle"
    if kept.exists():
        pages: list[BenchPage] = pickle.loads(kept.read_bytes())
        return pages
    folder.mkdir(parents=True, exist_ok=True)
    print("search: fetching and parsing documentation, once …", file=sys.stderr)
    contents = [each for package in PACKAGES for each in _contents(package, folder)]
    with Sandbox(ParsePlan.from_config(Config())) as sandbox:
        pages = [
            page
            for start in range(0, len(contents), _BATCH)
            for page in _parsed(contents[start : start + _BATCH], sandbox)
        ]
    pages = sorted({page.url: page for page in pages}.values(), key=lambda page: page.url)
    kept.write_bytes(pickle.dumps(pages))
    return pages


def _unpacked(package: str, folder: Path) -> Path:
    place = folder / package
    if not place.exists():
        begun = folder / f"{package}.begun"
        begun.mkdir(exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", package], cwd=begun, check=True)
        (archive,) = begun.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive.name, "."], cwd=begun, check=True)
        begun.rename(place)
    return place


def _contents(package: str, folder: Path) -> Iterator[Content]:
    host, root = PACKAGES[package]
    top = _unpacked(package, folder) / root
    for file in sorted(top.rglob("*.html")):
        if file.is_symlink() or not file.is_file():
            continue
        path, markup = file.relative_to(top).as_posix(), file.read_bytes()
        if package != "apache2-doc" or _is_translated(path, markup):
            yield Content(
                f"http://{host}/{path}",
                markup,
                content_type="text/html",
                code=200,
                fetch_time=_FETCHED_MS,
                status=Status.FETCH_SUCCESS,
            )


def _parsed(contents: Sequence[Content], sandbox: Sandbox) -> Iterator[BenchPage]:
    batch = sandbox.parse(contents)
    markup = {content.url: content.body for content in contents}
    texts = {row["url"]: row for row in batch.parse_text.to_pylist()}
    for row in batch.parse_data.to_pylist():
        found = texts.get(row["url"])
        if found and found["text"]:
            main = found["main_text"] or extract(markup[row["url"]], markdown=False).text
            links = tuple((link["url"], link["anchor"]) for link in row["outlinks"])
            yield BenchPage(
                row["url"],
                row["title"],
                found["text"],
                main or found["text"],
                row["language"],
                links,
            )


def _is_translated(path: str, markup: bytes) -> bool:
    declared = _LANGUAGE.search(markup[:2_000])
    return declared is not None and declared[1].decode() == path.partition("/")[0]
