from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.model.parse import Parse
from crawl.plugins.parsefilter.headings import HeadingsParseFilter
from crawl.testing.parsefilter_contract import URL, ParseFilterContract, a_page

MARKUP = "<h1>One</h1><h2>Two</h2><p>x</p><h2>Two <i>again</i></h2><h3>Three</h3>"


def found(mime: str = "text/html", url: str = URL, **settings: object) -> dict[str, str]:
    config = Config.of({key.replace("_", "."): value for key, value in settings.items()})
    return dict(HeadingsParseFilter(config).filter(a_page(MARKUP, mime), Parse(url)).metadata)


class TestContract(ParseFilterContract):
    plugin_class = HeadingsParseFilter


def test_the_first_of_each_level() -> None:
    assert found() == {"h1": "One", "h2": "Two"}


def test_other_levels_and_all_of_them() -> None:
    assert found(headings="H2,h3,h6", headings_multivalued=True) == {
        "h2": "Two\nTwo again",
        "h3": "Three",
    }


def test_only_the_page_itself_and_only_html() -> None:
    assert found(mime="text/plain") == {}
    assert found(url=URL + "/inner") == {}


def test_there_is_no_h7() -> None:
    with pytest.raises(ConfigError, match="^headings: expected h1 to h6, got 'h7'$"):
        found(headings="h1,h7")
