"""Plugins for tests of the pipeline: one that reads a line language, and wicked ones."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.model.content import Content
from crawl.model.parse import Outlink, Parse, ParseStatus, Refresh
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.parsing.pipeline import Pipeline
from crawl.parsing.plan import ParsePlan

HERE = "tests.parsing.small_parsers"
NOW = 1_800_000_000_000
URL = "http://a.org/page"


class LineParser(Parser):
    """Each line is a word and its value: `title T`, `text T`, `link URL ANCHOR`, `meta K V` …"""

    mime_types: ClassVar[tuple[str, ...]] = ("text/plain", "text/html")

    def __init__(self, config: Config) -> None:
        pass

    def parse(self, page: Page) -> Sequence[Parse] | None:
        parses = [Parse(page.url)]
        for line in page.markup.split("\n"):
            word, _, rest = line.partition(" ")
            if word == "document":
                parses.append(Parse(rest))
                continue
            parses[-1] = _read(parses[-1], word, rest)
        return parses


def _read(parse: Parse, word: str, rest: str) -> Parse:
    first, _, second = rest.partition(" ")
    match word:
        case "title":
            return replace(parse, title=rest)
        case "text":
            return replace(parse, text=parse.text + rest)
        case "link":
            url, _, rel = first.partition("|")
            return replace(parse, outlinks=(*parse.outlinks, Outlink(url, second, rel, "a")))
        case "links":
            many = tuple(Outlink(f"{second}{number}") for number in range(int(first)))
            return replace(parse, outlinks=parse.outlinks + many)
        case "meta":
            return replace(parse, metadata={**parse.metadata, first: second})
        case "robots":
            return replace(parse, directives=parse.directives | set(rest.split()))
        case "refresh":
            return replace(parse, refresh=Refresh(first, second != "permanent"))
        case "fail":
            return replace(parse, status=ParseStatus(first), message=second)
        case "do":
            _DEEDS[first](second)
    return parse


def _raise(what: str) -> None:
    raise {"value": ValueError, "memory": MemoryError, "exit": SystemExit}[what](f"{what}\nthen")


def _recurse(depth: str) -> str:
    return _recurse(depth + "x")


def _hang(how: str) -> None:
    if how == "deaf":
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
    while True:
        time.sleep(1)


def _eat(much: str) -> list[bytearray]:
    return [bytearray(1 << 20) for _ in range(int(much))]


def _die(how: str) -> None:
    if how == "exit":
        os._exit(3)
    if how == "segfault":
        ctypes.string_at(0)
    os.kill(os.getpid(), signal.Signals[how])


def _print(text: str) -> None:
    print(text * 1000)
    print(text * 1000, file=sys.stderr)
    os.write(1, text.encode())


def _fork(then: str) -> None:
    """Leaves a second process behind; which goes on as if it were the first, or stays."""
    if os.fork() or then == "on":
        if then == "die":
            os._exit(3)
        return
    time.sleep(60)
    os._exit(0)


_DEEDS: dict[str, Any] = {
    "fork": _fork,
    "raise": _raise,
    "recurse": _recurse,
    "hang": _hang,
    "eat": _eat,
    "die": _die,
    "print": _print,
}


def parse_batch(parsing: ParsePlan, contents: Sequence[Content]) -> ParsedBatch:
    """Parses pages in this very process, without any guard."""
    return Pipeline(parsing).parse(contents)


def content(url: str, *lines: str, **changes: Any) -> Content:
    """A page in the line language, fetched well."""
    usual: dict[str, Any] = {
        "body": "\n".join(lines).encode(),
        "content_type": "text/plain; charset=utf-8",
        "code": 200,
        "fetch_time": NOW,
        "status": int(Status.FETCH_SUCCESS),
    }
    return Content(url, **{**usual, **changes})


def settings(**changes: Any) -> dict[str, Any]:
    """With the line parser, and none of the plugins that tests do not ask for."""
    return {
        "plugin.parser": [f"{HERE}:LineParser"],
        "scoring.filter.order": [],
        "urlfilter.order": ["length"],
        **{name.replace("__", "."): value for name, value in changes.items()},
    }


def plan(**changes: Any) -> ParsePlan:
    return ParsePlan.from_config(Config.of(settings(**changes)))


def parsed(*lines: str, **changes: Any) -> ParsedBatch:
    """One page in the line language, parsed in this process."""
    return parse_batch(plan(**changes), [content(URL, *lines)])


def only_row(batch: ParsedBatch) -> dict[str, Any]:
    """The one row of parse_data."""
    (row,) = batch.parse_data.to_pylist()
    return dict(row)


def crawl_statuses(batch: ParsedBatch) -> list[tuple[str, Status]]:
    """URL and status of each row of crawl_parse."""
    return [(url, datum.status) for url, datum in to_records(batch.crawl_parse)]
