from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.plugins.parsefilter.language import LanguageParseFilter
from crawl.testing.parsefilter_contract import ParseFilterContract, a_page

GERMAN = "Das Wetter wird morgen schön, mit einigen Wolken am Nachmittag."
ROOT = Path(__file__).parents[3]
PAGE = a_page("")  # its header says en-GB


def found(parse: Parse, **settings: object) -> Parse:
    named = {f"lang.{key.replace('_', '.')}": value for key, value in settings.items()}
    return LanguageParseFilter(Config.of(named)).filter(PAGE, parse)


class TestContract(ParseFilterContract):
    plugin_class = LanguageParseFilter


class TestIdentifyContract(ParseFilterContract):
    plugin_class = LanguageParseFilter

    def config(self) -> Config:
        settings = {"lang.extraction.policy": ["identify"], "lang.analyze.max.length": 300}
        return Config.of(settings)


@pytest.mark.parametrize(
    ("parse", "language"),
    [
        (Parse("u", text=GERMAN, language="fr-CA"), "fr"),
        (Parse("u", text=GERMAN, metadata={"dc.language": "Spanish", "og:locale": "it_IT"}), "es"),
        (Parse("u", text=GERMAN, metadata={"metatag.content-language": "it"}), "it"),
        (Parse("u", text=GERMAN, language="und"), "en"),
    ],
)
def test_what_is_declared_counts_first(parse: Parse, language: str) -> None:
    parsed = found(parse)
    assert parsed.language == language
    assert parsed.metadata == {**parse.metadata, "language": language}


def test_the_text_decides_where_nothing_is_declared_unless_the_policy_forbids_it() -> None:
    parse = Parse("u", title="Wetter", text=GERMAN)
    plain = LanguageParseFilter(Config.of()).filter(_page_without_header(), parse)
    assert (plain.language, plain.metadata) == ("de", {"language": "de"})
    detect = Config.of({"lang.extraction.policy": ["detect"]})
    assert LanguageParseFilter(detect).filter(_page_without_header(), parse) is parse


def test_the_model_is_loaded_by_the_first_page_that_needs_it() -> None:
    """Commands and pages that declare their language do without its time and memory."""
    script = """
import sys
from crawl.config import Config
from crawl.model.parse import Parse
from crawl.plugins.parsefilter.language import LanguageParseFilter
from tests.parsing.small_parsers import content
from crawl.interfaces.page import Page
page = Page(content("http://a.org/", ""), "text/html", "utf-8")
plugin = LanguageParseFilter(Config.of())
plugin.filter(page, Parse("u", text="The text", language="en"))
print("py3langid" in sys.modules)
plugin.filter(page, Parse("u", text="Das Wetter wird morgen recht schoen"))
print("py3langid" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["False", "True"]


def test_the_policy_is_an_order() -> None:
    parse = Parse("u", text=GERMAN, language="fr")
    assert found(parse, extraction_policy="identify,detect").language == "de"
    assert found(parse, extraction_policy="detect").language == "fr"
    assert found(Parse("u", text="123"), extraction_policy="identify,detect").language == "en"
    nothing = Parse("u", text="123", language="")
    assert found(nothing, extraction_policy="identify") is nothing


def test_only_a_part_is_looked_at() -> None:
    english = " The rest of it is English, all of it, from here to the end of the page." * 100
    parse = Parse("u", text=GERMAN + english + GERMAN + english)
    assert found(parse, extraction_policy="identify", analyze_max_length=120).language == "de"
    assert found(parse, extraction_policy="identify", analyze_max_length=0).language == "en"


def test_settings_that_cannot_be_meant() -> None:
    with pytest.raises(ConfigError, match="^lang.extraction.policy: expected detect and identify"):
        found(Parse("u"), extraction_policy="detect,guess")
    with pytest.raises(ConfigError, match="^lang.identification.languages: cannot identify xx$"):
        found(Parse("u"), identification_languages="de,xx")


def _page_without_header() -> Page:
    return Page(Content("u", b""), "text/html")
