"""What a page asks of robots, by meta tags or by its `X-Robots-Tag` header; and the URL that
its `Link` header asks to be known by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.urls.parse import resolve

ROBOTS = "robots"
"""The name that means every robot."""

_MEANINGS: dict[str, tuple[str, ...]] = {
    "none": ("noindex", "nofollow"),
    "nocache": ("noarchive",),
    **dict.fromkeys(("", "all", "index", "follow", "archive"), ()),
}
"""Synonyms; and directives that ask for nothing."""

_VALUED = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))
"""Directives with a value behind a colon: everything else before a colon names a robot."""

_MAX_DIRECTIVES = 32
_MAX_LENGTH = 100
_MAX_HEADER = 8192

_AGENT = re.compile(r"[a-z_-]+")
_WEEKDAY = re.compile(r"unavailable_after:\s*(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*")
_PARAMETER = r"\s*+;\s*+([^\s=;,<>\"]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|([^\s;,]*+)))?+"
_LINK = re.compile(rf"<([^<>]*+)>((?:{_PARAMETER})*+)")
_LINK_PARAMETER = re.compile(_PARAMETER)


def is_for_us(name: str, agent: str) -> bool:
    """Whether a robot's name, as a page gives it, means the crawler called `agent`.

    That is its name, or the letters that its name starts with: `mybot` for `MyBot/1.2`.
    """
    name, agent = name.strip().lower(), agent.strip().lower()
    if name in (ROBOTS, "*"):
        return True
    product = _AGENT.match(agent)
    return bool(name) and (name == agent or (product is not None and name == product[0]))


def directives_of_meta(tags: Iterable[tuple[str, str]], agent: str) -> frozenset[str]:
    """What meta tags, given as (name, content), ask of the crawler called `agent`.

    Tags for `robots` and for the crawler's own name add up.
    """
    return _bounded(
        directive
        for name, content in tags
        if is_for_us(name, agent)
        for directive in _words(content)
    )


def with_header_directives(content: Content, parse: Parse, agent: str, *, inside: bool) -> Parse:
    """The parse with the directives of X-Robots-Tag and, of a page that is not `inside` another,
    with the canonical URL of a Link header."""
    header = content.headers.get("x-robots-tag")
    if header:
        parse = replace(parse, directives=parse.directives | directives_of_header(header, agent))
    link = content.headers.get("link")
    if link and not parse.canonical and not inside:
        parse = replace(parse, canonical=canonical_of_link_header(link, content.url))
    return parse


def directives_of_header(values: str, agent: str) -> frozenset[str]:
    """What `X-Robots-Tag` asks of the crawler called `agent`: one value, or one a line.

    `otherbot: noindex, nofollow` is asked of otherbot alone.
    """
    lines = values.split("\n")
    return _bounded(directive for line in lines for directive in _of_line(line, agent))


def canonical_of_link_header(value: str, base: str) -> str:
    """The target of `rel=canonical` in a `Link` header; empty where there is none."""
    for link in _LINK.finditer(value[:_MAX_HEADER]):
        for name, quoted, bare in _LINK_PARAMETER.findall(link[2]):
            if name.lower() == "rel" and "canonical" in (quoted or bare).lower().split():
                url = resolve(base, link[1]) or ""
                return url if url.startswith(("http:", "https:")) else ""
    return ""


def _of_line(line: str, agent: str) -> Iterable[str]:
    ours = True
    for part in _words(line):
        before, colon, after = part.partition(":")
        if colon and before.strip() not in _VALUED:
            ours = is_for_us(before, agent)
            part = after.strip()
        if ours:
            yield part


def _words(content: str) -> Iterable[str]:
    """The directives of a list, lower-case; commas part them, or blanks where none does."""
    content = content[:_MAX_HEADER].lower()
    parts = [part.strip() for part in content.split(",")]
    if len(parts) == 1 and ":" not in content:
        parts = content.split()
    at = 0
    while at < len(parts):
        part = parts[at]
        at += 1
        if at < len(parts) and _WEEKDAY.fullmatch(part):  # a date has a comma of its own
            part = f"{part}, {parts[at]}"
            at += 1
        yield part


def _bounded(directives: Iterable[str]) -> frozenset[str]:
    wishes: set[str] = set()
    for directive in directives:
        for meant in _MEANINGS.get(directive, (directive[:_MAX_LENGTH],)):
            if len(wishes) < _MAX_DIRECTIVES:
                wishes.add(meant)
    return frozenset(wishes)
