from __future__ import annotations

import xml.parsers.expat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.formats.feeds import MAX_ELEMENTS, bounded_feed, is_feed
from crawl.parsing.formats.safe_xml import BadXml

ATOM = "http://www.w3.org/2005/Atom"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<rss version='2.0'>", True),
        ("<?xml version='1.0'?><!DOCTYPE rss [<!ENTITY a 'b'>]><rss>", True),
        (f"<feed xmlns='{ATOM}'>", True),
        (f"<a:feed xmlns:a='{ATOM}'>", True),
        ("<feed>", False),
        ("<r:RDF xmlns:r='urn:r' xmlns='http://purl.org/rss/1.0/'>", True),
        ("<r:RDF xmlns:r='urn:r'>", False),
        ("<html><rss>", False),
        ("rss", False),
        ("", False),
    ],
)
def test_the_root_identifies_a_feed(text: str, expected: bool) -> None:
    assert is_feed(text) == expected


def test_surplus_entries_are_left_out_whole() -> None:
    item = "<item><title>t<b>x</b></title></item>"
    written = bounded_feed(f"<rss><channel>{item * 5}<title>T</title></channel></rss>", 2).data
    assert written == f"<rss><channel>{item * 2}<title>T</title></channel></rss>".encode()


def test_surplus_elements_are_left_out() -> None:
    written = bounded_feed("<rss>" + "<x/>" * (MAX_ELEMENTS + 500) + "</rss>", 10).data
    assert written.count(b"<x/>") == MAX_ELEMENTS - 1


def test_prefixes_that_nothing_explains_are_dropped() -> None:
    assert bounded_feed("<rss><media:x a:b='1'>t</media:x></rss>", 1).data == (
        b'<rss><x b="1">t</x></rss>'
    )


def test_no_xml_is_reported() -> None:
    with pytest.raises(BadXml):
        bounded_feed("text", 1)


PIECES = (
    *("<item>", "</item>", "<a:b c:d='e'>", "</a:b>", "<title xmlns='urn:x'>", "&", "&lt;", "é"),
    *("\0", "<![CDATA[", "]]>", "<!--", "-->", "<x y='&#1;'/>", "<1>", "<a:/>", "<:b/>", "<é/>"),
    *("<x xmlns:q='}' q:r='1'/>", "<x y:='1' :z='2' é='3'/>", "<xml:a xml:b='c'/>", "<a:b:c/>"),
    *("<x xmlns='a b'/>", "<q:x xmlns:q='http:%'/>", "<x xmlns='é:'/>", "<x xmlns:a=':' a:b=''/>"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_what_is_written_is_well_formed(jumble: list[str]) -> None:
    try:
        written = bounded_feed("<rss>" + "".join(jumble), 3).data
    except BadXml:
        return
    parser = xml.parsers.expat.ParserCreate(namespace_separator=" ")
    assert parser.Parse(written, True) == 1


def test_entries_that_are_left_out_are_counted() -> None:
    item = "<item><title>t</title></item>"
    assert bounded_feed(f"<rss><channel>{item * 5}</channel></rss>", 2).entries_left_out == 3
    long = f"<rss>{item}" + "<x/>" * MAX_ELEMENTS + f"{item * 2}</rss>"
    assert bounded_feed(long, 10).entries_left_out == 2


def test_what_is_read_before_a_feed_goes_too_deep_is_kept() -> None:
    item = "<item><title>t</title></item>"
    found = bounded_feed(f"<rss><channel>{item * 5}" + "<x>" * 5000, 10)
    assert found.data.count(b"<item>") == 5
