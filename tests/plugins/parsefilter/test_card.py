from __future__ import annotations

from crawl.config import Config
from crawl.interfaces.page import Page
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.model.status import Status
from crawl.parsing.card.stored import CARD_KEY, card_of
from crawl.parsing.pipeline import Pipeline
from crawl.parsing.plan import ParsePlan
from crawl.plugins.parsefilter.card import CardParseFilter
from crawl.testing.parsefilter_contract import URL, ParseFilterContract, a_page
from tests.parsing.card.card_pages import meta

MARKUP = f"<html lang=de>{meta(og__title='O', og__image='javascript:x')}<title>T</title>"
HERE = "crawl.plugins.parsefilter.card:CardParseFilter"


class TestContract(ParseFilterContract):
    plugin_class = CardParseFilter

    def samples(self) -> list[tuple[Page, Parse]]:
        json_ld = '[{"@type": "Article", "headline": "J", "image": "/j.png"}]'
        page = a_page(MARKUP)
        image = a_page("", "image/png")
        return [
            (page, Parse(URL, title="T", language="de", metadata={"json-ld": json_ld})),
            (image, Parse(URL, metadata={"content.name": "a.png"})),
        ]


def test_the_card_is_one_key_and_what_is_left_out_is_counted() -> None:
    before = Parse(URL, metadata={"kept": "1"}, counts={"card.left_out.image.address": 1, "x": 2})
    parse = CardParseFilter(Config.of()).filter(a_page(MARKUP), before)
    assert parse.metadata.keys() == {"kept", CARD_KEY}
    assert parse.counts["card.left_out.image.address"] == 2 and parse.counts["x"] == 2
    card = card_of(parse.metadata)
    assert card is not None and card.title == "O" and card.image is None


def test_only_the_page_itself_has_a_card() -> None:
    inner = Parse(URL + "/inner")
    assert CardParseFilter(Config.of()).filter(a_page(MARKUP), inner) is inner


def test_it_is_off_unless_it_is_named_and_then_stands_in_parse_data() -> None:
    content = Content(URL, MARKUP.encode(), "text/html", 200, 1, status=int(Status.FETCH_SUCCESS))
    for order, expected in (((), None), ((HERE,), "O")):
        config = Config.of(
            {"http.agent.name": "t", **({"parsefilter.order": order} if order else {})}
        )
        batch = Pipeline(ParsePlan.from_config(config)).parse([content])
        card = card_of(dict(batch.parse_data["metadata"][0].as_py()))
        assert (card and card.title) == expected
