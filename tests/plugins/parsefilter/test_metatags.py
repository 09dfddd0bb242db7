from __future__ import annotations

from crawl.config import Config
from crawl.model.parse import Parse
from crawl.plugins.parsefilter.metatags import MetatagsParseFilter
from crawl.testing.parsefilter_contract import URL, ParseFilterContract, a_page

MARKUP = """<head><meta name=Description content="About"><meta name=keywords content=a>
<meta name=KEYWORDS content=b><meta property=og:title content=T><meta name=x content=y></head>"""


def found(names: str | None = None, mime: str = "text/html", url: str = URL) -> dict[str, str]:
    settings = {} if names is None else {"metatags.names": names}
    parse = Parse(url, metadata={"kept": "1"})
    return dict(
        MetatagsParseFilter(Config.of(settings)).filter(a_page(MARKUP, mime), parse).metadata
    )


class TestContract(ParseFilterContract):
    plugin_class = MetatagsParseFilter


class TestAllContract(ParseFilterContract):
    plugin_class = MetatagsParseFilter

    def config(self) -> Config:
        return Config.of({"metatags.names": "*"})


def test_the_usual_ones() -> None:
    assert found() == {
        "kept": "1",
        "metatag.description": "About",
        "metatag.keywords": "a, b",
    }


def test_others_by_name_in_any_case() -> None:
    assert found("OG:Title,nothing") == {"kept": "1", "metatag.og:title": "T"}


def test_all_of_them() -> None:
    assert found("*").keys() == {
        *("kept", "metatag.description", "metatag.keywords", "metatag.og:title", "metatag.x")
    }


def test_only_the_page_itself_and_only_html() -> None:
    assert found(mime="text/plain") == {"kept": "1"}
    assert found(url=URL + "/inner") == {"kept": "1"}


def test_all_of_a_flood_is_not_kept() -> None:
    markup = "".join(f"<meta name=n{number} content=x>" for number in range(900))
    every = MetatagsParseFilter(Config.of({"metatags.names": "*"}))
    assert len(every.filter(a_page(markup), Parse(URL)).metadata) == 200
    same = "<meta name=description content='" + "x" * 1500 + "'>"
    long = every.filter(a_page(same * 100), Parse(URL)).metadata["metatag.description"]
    assert len(long) == 2000
