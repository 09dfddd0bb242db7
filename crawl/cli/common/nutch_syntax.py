"""Recognizes command lines in Nutch's syntax and says what to type here instead.

Nothing is guessed and run: Nutch's tools take the paths of single datasets, ours the folder of
a crawl, and a command that nearly fits would do something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from crawl.errors import UsageError

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

_OPTIONS = {"-adddays": "--add-days", "-nocrawldb": "--no-crawldb", "-topN": "--top-n"}
"""Nutch's spellings of options that are not just ours in camel case."""

_SINGLE_DASH = re.compile(r"-[A-Za-z][A-Za-z]+")
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEGMENT = re.compile(r"(?P<crawl>.*?)/?(?<![^/])segments/(?P<name>[0-9]{14})/?")
_TAKE_A_CRAWL = frozenset(
    (
        *("inject", "generate", "fetch", "parse", "updatedb", "run", "status", "readdb"),
        *("snapshots", "rollback", "gc", "rebucket", "explain", "check", "sitemap"),
        *("webgraph", "linkrank", "hostgraph", "scoreupdater", "nodedumper", "nodereader"),
        "dedup",
        *("invertlinks", "readlinkdb", "mergelinkdb"),
        *("domainstats", "protocolstats", "crawlcomplete", "linkstats", "dust", "mirrors"),
        *("index", "clean"),
    )
)


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
    if command not in _TAKE_A_CRAWL:
        return
    _check_options(command, rest)
    if rest and not rest[0].startswith("-"):
        _check_place(command, rest)


def _check_options(command: str, words: list[str]) -> None:
    for word in words:
        if word == "--":
            return
        # an option of one letter may have its value attached to it
        attached = ("-D", "-s", "-w") if command == "run" else ("-D",)
        if _SINGLE_DASH.fullmatch(word) and not word.startswith(attached):
            if command == "readdb" and word == "-topN":
                raise UsageError("readdb: -topN is spelt --top N here, and prints the URLs")
            raise UsageError(f"{command}: {word} is spelt {_spelt(word)} here")


def _spelt(option: str) -> str:
    return _OPTIONS.get(option) or "--" + _WORD.sub("-", option[1:]).lower()


def _check_place(command: str, words: list[str]) -> None:
    place = words[0].rstrip("/")
    if place == "linkdb" or place.endswith("/linkdb"):
        crawl = place.removesuffix("linkdb").rstrip("/") or "."
        raise UsageError(f"{command}: name the crawl's folder, {crawl}, not its LinkDb")
    if place == "crawldb" or place.endswith("/crawldb"):
        crawl = place.removesuffix("crawldb").rstrip("/") or "."
        raise UsageError(
            f"{command}: name the crawl's folder, {crawl}, not its CrawlDb: the segments and all"
            " else are found below it"
        )
    segment = _SEGMENT.fullmatch(words[0])
    if segment is not None and command in ("fetch", "parse", "updatedb", "invertlinks"):
        crawl = segment["crawl"] or "."
        raise UsageError(f"{command}: type `crawl {command} {crawl} {segment['name']}`")
    if command == "run" and len(words) > 1 and re.fullmatch(r"-?[0-9]+", words[1]):
        raise UsageError(f"run: type `crawl run {words[0]} --rounds {words[1]}`")
