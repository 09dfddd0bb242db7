from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from crawl.config import Config
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.page import Page
from crawl.interfaces.parser import Parser
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.content import Content
from crawl.model.parse import Outlink, Parse
from crawl.model.status import Status
from crawl.parsing.check import MAX_LINKS, ParseChecker, checked_links, suspected_rules
from crawl.parsing.fields.rule_file import read_rules
from crawl.parsing.outlinks import OutlinkRules

pytestmark = pytest.mark.slow

PAGE = "http://a.org/"
PLAIN = {"plugin.parser": ["text"], "scoring.filter.order": []}


def _rules(**settings: object) -> OutlinkRules:
    config = Config.of({name.replace("__", "."): value for name, value in settings.items()})
    return OutlinkRules.of(
        config,
        NormalizerChain.from_config(config, Scope.OUTLINK),
        FilterChain.from_config(config),
    )


def _fates(links: list[Outlink], rules: OutlinkRules) -> list[str]:
    return [link.kept_as or link.reason for link in checked_links(PAGE, links, rules)]


def test_every_link_has_its_fate() -> None:
    links = [
        Outlink("HTTP://A.org/x#top", "x"),
        Outlink("http://a.org/x", "x again"),
        Outlink("http://a.org/logo.gif"),
        Outlink("http://b.org/", rel="nofollow ugc"),
        Outlink("mailto:a@b.org"),
        Outlink("http://a.org/#self"),
        Outlink("http://a.org/" + "y" * 5000),
        Outlink("http://c.org/1"),
        Outlink("http://c.org/2"),
    ]
    assert _fates(links, _rules(**{"db.max.outlinks.per.page": 2})) == [
        "duplicate",
        "http://a.org/x",
        "filtered",
        "rel_nofollow",
        "malformed",
        "self",
        "too_long",
        "http://c.org/1",
        "limit",
    ]
    checked = checked_links(PAGE, links, _rules())
    assert [link.link for link in checked] == links
    assert checked[2].detail.startswith("regex: regex-urlfilter.txt:")
    assert all(not link.detail for link in checked if link.reason != "filtered")


def test_internal_and_external_links() -> None:
    links = [Outlink("http://a.org/x"), Outlink("http://b.org/")]
    assert _fates(links, _rules(db__ignore__internal__links=True)) == ["internal", "http://b.org/"]
    external = _rules(db__ignore__external__links=True)
    assert _fates(links, external) == ["http://a.org/x", "external"]
    kept = checked_links(PAGE, links, external, lambda source, target: "b.org" in target)
    assert [link.kept_as for link in kept] == ["http://a.org/x", "http://b.org/"]


def test_no_links_may_be_kept() -> None:
    links = [Outlink("http://a.org/x")]
    assert _fates(links, _rules(**{"db.max.outlinks.per.page": 0})) == ["limit"]
    assert checked_links(PAGE, [], _rules()) == ()


def test_reasons_are_not_sought_without_end() -> None:
    links = [Outlink(f"http://a.org/{n}.gif") for n in range(1200)]
    fates = _fates(links, _rules())
    assert (fates.count("filtered"), fates.count("?")) == (300, 900)


def _content(body: bytes, content_type: str = "text/plain", **more: Any) -> Content:
    return Content(PAGE, body, content_type, 200, 1, status=int(Status.FETCH_SUCCESS), **more)


def test_a_page_is_parsed_and_its_links_are_shown() -> None:
    with ParseChecker(Config.of(PLAIN)) as checker:
        checked = checker.check(_content(b"see http://b.org/x and http://b.org/x.gif"))
        (document,) = checked.documents
        assert document.is_parsed
        assert checked.parsers == ("text",)
        assert (document.url, document.mime_type, document.charset) == (PAGE, "text/plain", "utf-8")
        assert document.text.startswith("see http://b.org/x")
        assert document.signature is not None
        assert [(link.kept_as, link.reason) for link in document.links] == [
            ("http://b.org/x", ""),
            ("", "filtered"),
        ]
        failed = checker.check(_content(b"GIF89a", "image/gif"))
        assert not failed.documents[0].is_parsed
        assert failed.documents[0].message == "no parser reads image/gif"
        truncated = checker.check(_content(b"x", truncated="length"))
        assert truncated.documents[0].status == "failed_truncated"
        not_a_page = Content(PAGE, b"", status=int(Status.FETCH_REDIR_PERM))
        assert checker.check(not_a_page).documents == ()


def test_a_page_is_taken_for_what_one_says() -> None:
    with ParseChecker(Config.of(PLAIN), force_as="text/plain") as checker:
        page = _content("\u00e9".encode("latin-1"), "image/gif; charset=iso-8859-1")
        (document,) = checker.check(page).documents
        assert (document.mime_type, document.text) == ("text/plain", "\u00e9")


def test_links_are_looked_at_up_to_a_bound() -> None:
    many = " ".join(f"http://b.org/{n}" for n in range(MAX_LINKS + 500)).encode()
    with ParseChecker(Config.of({**PLAIN, "db.max.outlinks.per.page": -1})) as checker:
        checked = checker.check(_content(many))
    assert len(checked.documents[0].links) == MAX_LINKS
    assert checked.counters["outlinks_dropped.limit"] == 500


class Dying(Parser):
    mime_types: ClassVar[tuple[str, ...]] = ("*/*",)

    def __init__(self, config: Config) -> None:
        pass

    def parse(self, page: Page) -> Sequence[Parse] | None:
        os.kill(os.getpid(), signal.SIGSEGV)
        return None


def test_a_parser_that_dies_is_reported() -> None:
    dying = "tests.parsing.test_check:Dying"
    with ParseChecker(Config.of({**PLAIN, "plugin.parser": [dying]})) as checker:
        (document,) = checker.check(_content(b"x")).documents
        assert document.status == "failed_crashed"
        assert document.links == ()


def test_rules_that_may_have_cost_the_page_are_named() -> None:
    rule = '[[rule]]\nhosts = "a.org"\nname = "{0}"\n[rule.fields.{0}]\ncss = "p"\n'
    rules = read_rules(rule.format("x") + rule.format("y"), "fields.toml")
    (told,) = suspected_rules(rules, PAGE, "failed_timeout")
    assert told.problem.startswith("rules x, y are for this URL") and not told.rule
    assert "-D parsefilter.order=language" in told.problem
    assert suspected_rules(rules, PAGE, "failed_truncated") == ()
    assert suspected_rules(rules, "http://b.org/", "failed_timeout") == ()
