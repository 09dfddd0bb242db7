"""Recognizes command lines in Nutch's syntax and says what to type here instead.

Nothing is guessed and run: Nutch's tools take the paths of single datasets, ours the folder of
a crawl, and a command that nearly fits would do something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from crawl.errors import UsageError
from crawl.operations.registry import OURS, operations_of

NOT_YET = {
    "commoncrawldump": "archives",
    "dump": "archives",
    "freegen": "fetch lists from files",
    "mergedb": "merging of crawls",
    "mergesegs": "merging of crawls",
    "readseg": "reading of segments",
    "warc": "archives",
}
"""Nutch's commands that are not there, and what they belong to."""

_INSTEAD = {
    "readseg": "`crawl status DIR` lists the segments, `crawl explain DIR URL` tells of a URL, and"
    " their tables are Parquet",
    "crawl": "`crawl run DIR --rounds N` turns rounds",
}

_DATASETS = {"linkdb": "LinkDb", "crawldb": "CrawlDb: the segments and all else are found below it"}

_SINGLE_DASH = re.compile(r"-[A-Za-z][A-Za-z]+")
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_IS_DATASET = re.compile(r"(^|/)((crawldb|linkdb)/*$|segments/)")
_SEGMENT = re.compile(r"(?P<crawl>.*?)/?(?<![^/])segments/(?P<name>[0-9]{14})/?")


def check_nutch_syntax(arguments: Sequence[str]) -> None:
    """Raises UsageError where a command line is Nutch's and not ours."""
    if not arguments:
        return
    command, rest = arguments[0], list(arguments[1:])
    if command in NOT_YET:
        instead = f"; {_INSTEAD[command]}" if command in _INSTEAD else ""
        raise UsageError(f"{command} is not there yet: {NOT_YET[command]} will come{instead}")
    if command in _INSTEAD:
        raise UsageError(f"there is no command {command}: {_INSTEAD[command]}")
    suspects = [word for word in _options(command, rest) if _SINGLE_DASH.fullmatch(word)]
    place = rest[0] if rest and not rest[0].startswith("-") else ""
    # nobody who types ours waits for the declarations
    if not suspects and not _IS_DATASET.search(place) and command != "run":
        return
    if not _takes_a_crawl(command):
        return
    for word in suspects:
        raise UsageError(f"{command}: {word} is spelt {_spelt(command, word)} here")
    if place:
        _check_place(command, rest)


def _takes_a_crawl(command: str) -> bool:
    """Whether it is a command whose words are those of Nutch's: a query has words of its own."""
    from crawl.operations.operation import Place

    is_ours = command in OURS and command != "search"
    return is_ours and operations_of(command)[0].place is Place.CRAWL


def _options(command: str, words: list[str]) -> Iterator[str]:
    """The words that may be options; one of one letter may have its value attached to it."""
    attached = ("-D", "-s", "-w") if command == "run" else ("-D",)
    for word in takewhile(lambda word: word != "--", words):
        if not word.startswith(attached):
            yield word


def _spelt(command: str, word: str) -> str:
    """As it was declared, or in our way of writing words."""
    from crawl.operations.options import Face

    for operation in operations_of(command):
        for field in operation.fields(Face.COMMAND_LINE):
            if field.option.nutch == word:
                return " ".join(filter(None, [field.flags[0], field.option.metavar]))
    return "--" + _WORD.sub("-", word[1:]).lower()


def _check_place(command: str, words: list[str]) -> None:
    place = words[0].rstrip("/")
    dataset = place.rpartition("/")[2]
    if dataset in _DATASETS:
        crawl = place.removesuffix(dataset).rstrip("/") or "."
        not_this = _DATASETS[dataset]
        raise UsageError(f"{command}: name the crawl's folder, {crawl}, not its {not_this}")
    segment = _SEGMENT.fullmatch(words[0])
    if segment is not None and command in ("fetch", "parse", "updatedb", "invertlinks"):
        crawl = segment["crawl"] or "."
        raise UsageError(f"{command}: type `crawl {command} {crawl} {segment['name']}`")
    if command == "run" and len(words) > 1 and re.fullmatch(r"-?[0-9]+", words[1]):
        raise UsageError(f"run: type `crawl run {words[0]} --rounds {words[1]}`")
