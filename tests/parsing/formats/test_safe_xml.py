from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.formats.safe_xml import MAX_DEPTH, BadXml, read_xml
from crawl.parsing.text.xml_root import local_name, root_name

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l0 "lol">'
    + "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
    + "]><lolz>&l9;</lolz>"
)
QUADRATIC = (
    f'<!DOCTYPE a [<!ENTITY e "{"x" * 50_000}">]><a b="{"&e;" * 20_000}">{"&e;" * 20_000}</a>'
)


class RecordingHandler:
    def __init__(self) -> None:
        self.starts: list[tuple[str, dict[str, str]]] = []
        self.pieces: list[str] = []
        self.ends: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.starts.append((name, dict(attributes)))

    def data(self, text: str) -> None:
        self.pieces.append(text)

    def end(self, name: str) -> None:
        self.ends.append(name)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def parse_xml(text: str) -> RecordingHandler:
    handler = RecordingHandler()
    read_xml(text, handler)
    return handler


def test_a_document() -> None:
    handler = parse_xml(
        '<?xml version="1.0"?><!-- x --><a b="1"><c xmlns="urn:n">t</c><![CDATA[<&>]]></a>'
    )
    assert handler.starts == [("a", {"b": "1"}), ("{urn:n}c", {})]
    assert handler.text == "t<&>"
    assert handler.ends == ["{urn:n}c", "a"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("x & y &amp; &lt;", "x & y & <"),
        ("http://a/?x=1&y=2&copy=3", "http://a/?x=1&y=2&copy=3"),
        ("&eacute;&nbsp;&hellip;", "é\xa0…"),
        ("&unknown; &;", "&unknown; &;"),
        ("&#65;&#x42;", "AB"),
        ("&#0;&#xD800;&#x110000;&#99999999999999999999;&#xfffe;", "\ufffd" * 5),
        ("<![CDATA[a&b&amp;]]>&<![CDATA[&]]>", "a&b&amp;&&"),
        ("\x01\x02é", "  é"),
    ],
)
def test_what_a_dtd_would_have_to_explain_is_mended(body: str, text: str) -> None:
    assert parse_xml(f"<a>{body}</a>").text == text


def test_attributes_are_mended_too() -> None:
    assert parse_xml('<a b="1&2&amp;3&uuml;"/>').starts == [("a", {"b": "1&2&3ü"})]


def test_what_came_before_a_mistake_counts() -> None:
    handler = parse_xml("<a><b>one</b><c>two</d></a><e/>")
    assert [name for name, _ in handler.starts] == ["a", "b", "c"]
    assert handler.text.startswith("onetwo")


@pytest.mark.parametrize("text", ["", " ", "plain", "<", "<!--", "<!DOCTYPE a [", "<?xml", "{}"])
def test_no_xml_is_reported(text: str) -> None:
    with pytest.raises(BadXml, match="^no XML"):
        parse_xml(text)


def test_billion_laughs_are_one_line() -> None:
    handler = parse_xml(LAUGHS)
    assert handler.text == "&l9;"


def test_quadratic_blowup_does_not_blow_up() -> None:
    handler = parse_xml(QUADRATIC)
    assert len(handler.text) == 60_000
    assert len(handler.starts[0][1]["b"]) == 60_000


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        '<!doctype a [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        "<!DOCTYPE a SYSTEM 'http://127.0.0.1:9/x.dtd' [<!ENTITY % p SYSTEM 'x'> %p;]>",
        '<!DOCTYPE a [<!ENTITY e "]>"><!-- ]> \' -->]>',
        "<?x ?><!-- <!DOCTYPE z> --><!DOCTYPE a [<!ENTITY e '<a>'>]>",
        "<!DOCTYPE b><!DOCTYPE a [<!ENTITY e 'x'>]>",
    ],
)
def test_nothing_of_a_doctype_is_read(doctype: str) -> None:
    handler = parse_xml(doctype + "<a>&e;</a>")
    assert handler.starts == [("a", {})]
    assert handler.text == "&e;"


def test_a_declared_encoding_hides_nothing() -> None:
    assert parse_xml('<?xml version="1.0" encoding="utf-7"?><a>+AGE-ü</a>').text == "+AGE-ü"


def test_depth_is_bounded() -> None:
    assert len(parse_xml("<a>" * MAX_DEPTH).starts) == MAX_DEPTH
    with pytest.raises(BadXml, match="inside each other"):
        parse_xml("<a>" * 100_000)


@pytest.mark.parametrize(
    "piece", ["<", "&", "<!--", "<?", "<![CDATA[", "<!DOCTYPE ", "&aaaaaaaaaaaa", '<a b="', "]]>"]
)
def test_floods(piece: str) -> None:
    for text in (piece * 100_000, "<a>" + piece * 100_000):
        try:
            handler = parse_xml(text)
        except BadXml:
            continue
        assert len(handler.starts) <= 2


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("<urlset>", "urlset"),
        (
            "\ufeff <?xml version='1.0'?>\n<!-- c --><!DOCTYPE x [<!ENTITY y '>'>]><x:RSS a='b'>",
            "rss",
        ),
        ("", ""),
        ("text <a>", ""),
        ("<!-- never closed <a>", ""),
        ('{"a": 1}', ""),
    ],
)
def test_the_root_is_known_without_parsing(text: str, root: str) -> None:
    assert root_name(text) == root


def test_local_names() -> None:
    assert [local_name(name) for name in ("{urn:x}Loc", "image:loc", "a")] == ["loc", "loc", "a"]


@given(
    st.lists(
        st.sampled_from(
            [
                "<a>",
                "</a>",
                "<b x='1'/>",
                "&",
                "&lt;",
                "<![CDATA[",
                "]]>",
                "x",
                "<!--",
                "-->",
                "<!DOCTYPE a [",
                "]>",
                "'",
                '"',
                "\0",
                "\ud800",
                "<?",
                "?>",
                "<",
                ">",
                "é",
                "&#1;",
            ]
        ),
        max_size=30,
    )
)
def test_any_jumble_is_parsed_or_refused(pieces: list[str]) -> None:
    handler = RecordingHandler()
    try:
        read_xml("".join(pieces), handler)
    except BadXml:
        return
    assert handler.starts
    assert handler.text.encode("utf-8") is not None


def test_after_a_mistake_characters_with_a_name_are_still_read() -> None:
    handler = parse_xml("<a><b></c><d x='1&amp;2'>1&amp;2&lt;3&gt;&quot;&apos;&copy;</d></b></a>")
    assert handler.text == "1&2<3>\"'©"
    assert ("d", {"x": "1&2"}) in handler.starts


@pytest.mark.parametrize("stray", ["</b>", "</b></c>", "</a-b >", "</x:a>", "</b x='1'>"])
def test_an_end_tag_of_nothing_does_not_end_the_document(stray: str) -> None:
    text = f"<a>{stray}<d>text</d>{stray}<!-- </a> --><![CDATA[</a>]]></a>"
    assert parse_xml(text).text == "text</a>"


def test_many_end_tags_of_nothing_take_no_time() -> None:
    for text in ("</a>" * 200_000, "<!--" * 200_000, "</a" * 200_000, "<![CDATA[</" * 100_000):
        assert parse_xml(f"<a></b>{text}").starts == [("a", {})]
