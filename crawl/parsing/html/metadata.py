"""What an HTML page says of itself: meta tags, link elements, JSON-LD, its language."""

from __future__ import annotations

import json
import re

from crawl.html.encoding import UTF_8
from crawl.html.tokens import Attributes, names_in
from crawl.model.parse import Refresh
from crawl.parsing.directives import directives_of_meta
from crawl.parsing.html.links import AbsoluteLinks, links_of_page, may_lead_elsewhere
from crawl.parsing.html.text import collapse_whitespace

_NAMES = names_in(
    "application-name author copyright date description generator keywords last-modified",
    "news_keywords publisher rating revised subject theme-color viewport citation_online_date",
    "citation_publication_date datepublished og:pubdate parsely-pub-date pubdate publish-date",
    "publish_date publishdate published-date sailthru.date",
)
OPENGRAPH_PREFIXES = (*("og:", "article:", "book:", "profile:", "product:", "music:", "video:"),)
_PREFIXES = (*OPENGRAPH_PREFIXES, "twitter:", "dc.", "dcterms.")
_LANGUAGE_NAMES = ("dc.language", "dcterms.language", "language")
_IMAGES = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/feed+json")

_MAX_TAGS = 100
_MAX_NAME = 100
_MAX_VALUE = 2_000
_MAX_URL = 4_096
_MAX_ROBOTS = 50
_MAX_ALTERNATES = 100
_MAX_FEEDS = 20
_MAX_JSON_LD = 65_536
_MAX_TYPES = 20
_WRAPPER_BEGIN = re.compile(r"(?:/\*|//)?\s*+(?:<!\[CDATA\[|<!--)(?:\s*+\*/)?")
_WRAPPER_END = re.compile(r"(?:/\*|//)?\s*+(?:\]\]>|-->)(?:\s*+\*/)?\s*+\Z")
_LONGEST_WRAPPER = 40

_PERMANENT_AFTER = 5
"""Seconds, as in Nutch: a page that is shown for a while before its refresh has moved."""
_REFRESH = re.compile(
    r"\s*+(\d{1,9})(?:\.[\d.]*+)?+(?:\s*+[;,]\s*+|\s++)(?:url\s*+=\s*+)?+(.++)", re.I | re.S
)
_LANGUAGE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9_-]*+)?+(?:[\s,;].*+)?+", re.I | re.S)
_NO_LANGUAGE = frozenset(("mis", "mul", "und", "zxx"))


def language_code(text: str) -> str:
    """The code of the language itself: `de` of `de-AT`; empty where it is none."""
    match = _LANGUAGE.fullmatch(text.strip()[:100])
    code = match[1].lower() if match else ""
    return "" if code in _NO_LANGUAGE else code


def refresh_of(content: str) -> tuple[int, str] | None:
    """Seconds and target of a meta refresh; None where it only loads the page again."""
    match = _REFRESH.fullmatch(content.strip()[:10_000])
    if match is None:
        return None
    target = match[2]
    if target[0] in "\"'":
        target = target[1:].partition(target[0])[0]
    target = target.strip()
    return (int(match[1]), target) if target and may_lead_elsewhere(target) else None


class HtmlMetadata:
    """Collects what a page says of itself while it is read; URLs are made absolute at the end,
    when the base is known. Of repeated declarations the first counts, and all are bounded."""

    def __init__(self) -> None:
        self._base = ""
        self._language = ""
        self._meta_language = ""
        self._meta_tags: dict[str, str] = {}
        self._robots: list[tuple[str, str]] = []
        self._refresh: tuple[int, str] | None = None
        self._canonical = ""
        self._image_src = ""
        self._alternates: dict[str, str] = {}
        self._feeds: list[str] = []
        self._json_ld: list[str] = []
        self._json_ld_left = _MAX_JSON_LD
        self._types: dict[str, None] = {}
        self._repeated: dict[str, list[str]] = {}
        self._repeated_left = _MAX_TAGS
        self.counts: dict[str, int] = {}
        """JSON-LD that is left out, by reason."""

    def base(self, attributes: Attributes) -> None:
        """Reads a base element. A long one would make every link of the page as long."""
        declared = attributes.get("href")
        if declared and not self._base and len(declared) <= _MAX_URL:
            self._base = declared

    def html(self, attributes: Attributes) -> None:
        """Reads the root element."""
        declared = attributes.get("lang") or attributes.get("xml:lang")
        if declared and not self._language:
            self._language = language_code(declared)

    def meta(self, attributes: Attributes, is_noscript: bool) -> None:
        """Reads a meta tag. A refresh inside noscript is ignored: it leads to an excuse."""
        content = attributes.get("content")
        if not content:
            return
        declared = attributes.get("http-equiv")
        if declared:
            self._http_equiv(declared.strip().lower(), content, is_noscript)
        name = attributes.get("name") or attributes.get("property") or attributes.get("itemprop")
        if name:
            self._named(name, content)
        other = attributes.get("property") or ""
        if other != name and other.strip().lower().startswith(OPENGRAPH_PREFIXES):
            self._named(other, content)  # name="description" property="og:description"

    def _named(self, name: str, content: str) -> None:
        if len(name) > _MAX_NAME:
            return
        name = name.strip().lower()
        if name in _NAMES or name.startswith(_PREFIXES):
            if name in self._meta_tags:
                self._repeat(name, content)
            elif len(self._meta_tags) < _MAX_TAGS:
                self._meta_tags[name] = collapse_whitespace(content, _MAX_VALUE)
        elif len(self._robots) < _MAX_ROBOTS:
            self._robots.append((name, content))
        if name in _LANGUAGE_NAMES and not self._meta_language:
            self._meta_language = language_code(content)

    def _repeat(self, name: str, content: str) -> None:
        """OpenGraph has lists: pictures, authors, tags."""
        if name.startswith(OPENGRAPH_PREFIXES) and self._repeated_left:
            self._repeated_left -= 1
            values = self._repeated.setdefault(name, [self._meta_tags[name]])
            values.append(collapse_whitespace(content, _MAX_VALUE))

    def _http_equiv(self, name: str, content: str, is_noscript: bool) -> None:
        if name == "refresh":
            if self._refresh is None and not is_noscript:
                self._refresh = refresh_of(content)
        elif name == "content-language":
            self._meta_language = self._meta_language or language_code(content)
        elif name == "pragma" and content.strip().lower() == "no-cache":
            self._robots.append(("robots", "noarchive"))

    def link(self, attributes: Attributes, rel: str, is_head: bool) -> None:
        """Reads a link element. Only in the head may it name the canonical URL: anybody who may
        comment can write one into the body."""
        target = attributes.get("href")
        if not target:
            return
        words = rel.split()
        if "canonical" in words:
            if is_head and not self._canonical:
                self._canonical = target
        elif "image_src" in words:
            self._image_src = self._image_src or target
        elif "alternate" in words:
            language = (attributes.get("hreflang") or "").strip().lower()
            kind = (attributes.get("type") or "").strip().lower()
            if kind.startswith(_FEED_TYPES):
                if len(self._feeds) < _MAX_FEEDS:
                    self._feeds.append(target)
            elif language and len(language) < 36 and len(self._alternates) < _MAX_ALTERNATES:
                self._alternates.setdefault(language, target)

    def json_ld(self, text: str) -> None:
        """Reads a script of type application/ld+json."""
        text = text.strip()
        if not text:
            return
        if len(text) > self._json_ld_left:
            self._count("structured.json_ld_too_long")
            return
        try:
            try:
                document = json.loads(text, parse_constant=_refuse)
            except ValueError:
                document = json.loads(_unwrapped(text), parse_constant=_refuse, strict=False)
                text = json.dumps(document, allow_nan=False)
        except (ValueError, RecursionError):
            self._count("structured.json_ld_malformed")
            return
        if len(text) > self._json_ld_left:
            self._count("structured.json_ld_too_long")
            return
        self._json_ld.append(text)
        self._json_ld_left -= len(text)
        self._note_types(document)

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _note_types(self, document: object) -> None:
        """Collects the types of the top-level objects and of those in a graph."""
        things = list(document) if isinstance(document, list) else [document]
        for thing in things:
            if not isinstance(thing, dict):
                continue
            graph, types = thing.get("@graph"), thing.get("@type")
            if isinstance(graph, list) and len(things) < _MAX_JSON_LD:
                things.extend(graph)
            for kind in types if isinstance(types, list) else [types]:
                if isinstance(kind, str) and kind.isascii() and len(self._types) < _MAX_TYPES:
                    self._types.update(dict.fromkeys(kind[:_MAX_NAME].split()))

    def absolute_links(self, url: str, charset: str = UTF_8) -> AbsoluteLinks:
        """Makes the page's references absolute, by its base element or else by its URL."""
        return links_of_page(url, self._base, charset)

    @property
    def language(self) -> str:
        return self._language or self._meta_language

    def directives(self, agent: str) -> frozenset[str]:
        return directives_of_meta(self._robots, agent)

    def refresh(self, absolute: AbsoluteLinks, url: str) -> Refresh | None:
        """The target of the meta refresh, unless it is the page itself."""
        if self._refresh is None:
            return None
        seconds, target = self._refresh
        refresh_url = absolute[target]
        if not refresh_url or refresh_url.partition("#")[0] == url.partition("#")[0]:
            return None
        return Refresh(refresh_url, temporary=seconds < _PERMANENT_AFTER)

    def canonical(self, absolute: AbsoluteLinks) -> str:
        return absolute[self._canonical] if self._canonical else ""

    def metadata(self, absolute: AbsoluteLinks) -> dict[str, str]:
        """Everything else, as keys and texts."""
        values = dict(self._meta_tags)
        image = next((self._meta_tags[name] for name in _IMAGES if name in self._meta_tags), "")
        image = image or self._image_src
        if image and (image := _bounded(absolute[image])):
            values["image"] = image
        for language, target in self._alternates.items():
            if alternate := _bounded(absolute[target]):
                values[f"hreflang.{language}"] = alternate
        feeds = dict.fromkeys(_bounded(absolute[feed]) for feed in self._feeds)
        if listed := " ".join(filter(None, feeds)):
            values["feeds"] = listed
        if self._json_ld:
            values["json-ld"] = f"[{','.join(self._json_ld)}]"
        if self._repeated:
            values["opengraph"] = json.dumps(self._repeated, ensure_ascii=False)
        if self._types:
            values["json-ld.type"] = " ".join(self._types)
        return values


def _bounded(url: str) -> str:
    """The URL, or nothing where it is too long: cut, it would be another URL."""
    return url if len(url) <= _MAX_URL else ""


def _unwrapped(text: str) -> str:
    """The JSON of a script that hides it from old parsers, by CDATA or a comment."""
    begin = _WRAPPER_BEGIN.match(text)
    if begin is None:
        return text
    end = _WRAPPER_END.search(text, max(begin.end(), len(text) - _LONGEST_WRAPPER))
    return text[begin.end() : end.start() if end else len(text)]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
