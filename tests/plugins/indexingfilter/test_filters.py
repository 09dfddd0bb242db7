"""The indexing filters that come along, by the contract and by what is their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.registry import available
from crawl.model.documents import IndexDocument
from crawl.testing.indexingfilter_contract import IndexingFilterContract, odd_pages


def _contract(name: str, plugin: Any) -> type[IndexingFilterContract]:
    return type(f"Test_{name}", (IndexingFilterContract,), {"plugin_class": plugin.load()})


globals().update(
    {
        f"Test{name.title().replace('-', '')}": _contract(name, plugin)
        for name, plugin in available("indexingfilter").items()
    }
)


def _fields(name: str, **settings: object) -> dict[str, Any]:
    page = odd_pages()[4]
    config = Config.of({key.replace("__", "."): value for key, value in settings.items()})
    document = IndexDocument(page.url, page.fetch_time, 1.0, {"title": page.parse.title})
    found = available("indexingfilter")[name].build(config).filter(document, page)
    return {} if found is None else found.fields


CASES: list[Any] = [
    ("basic", {}, {"host": "www.example.com", "tstamp": "1970-01-01T00:00:00.001Z"}),
    ("basic", {"indexer__add__domain": True}, {"domain": "example.com"}),
    ("basic", {"indexer__max__title__length": 3}, {"title": "Ein"}),
    ("anchor", {}, {"anchor": ["Beta"]}),
    ("more", {}, {"type": ["text/html", "text", "html"], "contentLength": 12}),
    ("more", {}, {"lastModified": "1994-11-06T08:49:37.000Z"}),
    ("metadata", {"index__parse__md": "metatag.keywords"}, {"metatag.keywords": "a, b"}),
    ("metadata", {"index__db__md": "k"}, {"k": "v"}),
    ("static", {"index__static": "a:1,b:2,a:3"}, {"a": ["1", "3"], "b": "2"}),
    ("links", {}, {"outlinks": ["http://b.com/", "no url"]}),
    ("links", {"index__links__hosts__only": True}, {"inlinks": ["b.com"]}),
    ("host", {}, {"domain": "example.com", "subdomain": "www", "tld": "com"}),
    ("language", {}, {"lang": "de"}),
    ("canonical", {}, {"canonical": "http://www.example.com/b"}),
    ("main-text", {}, {"content": "Ein Text."}),
    ("basic", {}, {"content": "Ein Text."}),
    ("structured", {}, {"og_title": "T"}),
    ("feed", {}, {"feed": "http://www.example.com/a"}),
    ("replace", {"index__replace__regexp": r"title=/ \| example$//i"}, {"title": "Ein Titel"}),
    ("replace", {"index__replace__regexp": "title:short=!^(Ein).*$!\\1!"}, {"short": "Ein"}),
]


@pytest.mark.parametrize(("name", "settings", "expected"), CASES)
def test_fields(name: str, settings: dict[str, object], expected: dict[str, Any]) -> None:
    found = _fields(name, **settings)
    assert {key: found.get(key) for key in expected} == expected


def test_a_page_with_another_canonical_url_can_be_dropped() -> None:
    assert _fields("canonical", index__canonical__drop=True) == {}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("static", {"index__static": "a"}),
        ("replace", {"index__replace__regexp": "title=/(/x/"}),
        ("replace", {"index__replace__regexp": "title"}),
    ],
)
def test_wrong_settings(name: str, settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="index"):
        _fields(name, **settings)


def test_json_ld_and_microdata_are_fields() -> None:
    metadata = {
        "json-ld": '[{"@type": "Product", "name": ["Chair", "Seat"], "offers": {"price": 1}}]',
        "microdata": '[{"properties": {"price": ["12"], "offers": [{"properties": {}}]}}]',
    }
    page = odd_pages()[4]
    page = replace(page, parse=replace(page.parse, metadata=metadata))
    document = IndexDocument(page.url, page.fetch_time)
    found = available("indexingfilter")["structured"].build(Config.of()).filter(document, page)
    assert found is not None and found.fields == {
        "jsonld_type": "Product",
        "jsonld_name": ["Chair", "Seat"],
        "microdata_price": "12",
    }
