"""parsefilter language: the language of a page, as it declares it or as its words tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from crawl.config import Config, boolean, integer, string_list
from crawl.errors import ConfigError
from crawl.interfaces.page import Page
from crawl.interfaces.parsefilter import ParseFilter
from crawl.model.parse import Parse
from crawl.parsing.language import Identifier, first_declared, unknown_languages

DETECT, IDENTIFY = "detect", "identify"
POLICY = string_list(
    "lang.extraction.policy",
    (DETECT, IDENTIFY),
    "How the language is found, in this order: detect (what page and server declare),"
    " identify (what the words look like).",
)
MAX_LENGTH = integer(
    "lang.analyze.max.length",
    256,
    "How much of title and text is looked at to identify the language, from the beginning and"
    " from the middle, and four times as much again where that does not tell; 0: all.",
    unit="bytes",
    minimum=0,
)
ONLY_CERTAIN = boolean(
    "lang.identification.only.certain",
    False,
    "Take an identified language only where it is beyond doubt.",
)
LANGUAGES = string_list(
    "lang.identification.languages",
    (),
    "The languages that are identified, as two-letter codes; none named: all that are known.",
)

_KEYS = ("dc.language", "dcterms.language", "content-language", "og:locale", "lang", "language")
"""Metadata of a parse that declare a language; the best first."""


class LanguageParseFilter(ParseFilter):
    """Sets `language` of the parse, and the metadata of that name."""

    def __init__(self, config: Config) -> None:
        self._policy = config[POLICY]
        self._max_length = config[MAX_LENGTH]
        unknown = set(self._policy) - {DETECT, IDENTIFY}
        if unknown:
            raise ConfigError(
                f"{POLICY.name}: expected {DETECT} and {IDENTIFY}, got {sorted(unknown)[0]!r}"
            )
        languages = config[LANGUAGES]
        if languages and (foreign := unknown_languages(languages)):
            raise ConfigError(f"{LANGUAGES.name}: cannot identify {', '.join(foreign)}")
        self._identifier = Identifier(languages, only_certain=config[ONLY_CERTAIN])

    def filter(self, page: Page, parse: Parse) -> Parse:
        for way in self._policy:
            if way == DETECT:
                language = first_declared(_declared(page, parse))
            else:
                language = self._identifier.identify_page(parse.title, parse.text, self._max_length)
            if language:
                metadata = {**parse.metadata, "language": language}
                return replace(parse, language=language, metadata=metadata)
        return parse


def _declared(page: Page, parse: Parse) -> Iterator[str]:
    """The parser has seen the `lang` of the page already."""
    yield parse.language
    for key in _KEYS:
        yield parse.metadata.get(key, "")
        yield parse.metadata.get(f"metatag.{key}", "")
    yield page.content.headers.get("content-language", "")
