"""Markdown says what the page said: a parser of CommonMark, with GitHub's tables, reads it back."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from crawl.maincontent.extract import extract
from tests.examples import scaled

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
WORDS = "It is said that these few words are a page of their own, and nothing else."


def markdown(page: str) -> str:
    return extract(page.encode(), markdown=True).text


def read_back(text: str) -> LexborHTMLParser:
    """What a reader makes of Markdown."""
    return LexborHTMLParser(READER.render(text).replace("<br>", " "))


def words(text: str) -> str:
    return " ".join(text.split())


def paragraph(text: str) -> str:
    """A page's paragraph as Markdown, without the one that stands before it."""
    found = markdown(f"<article><p>{WORDS}</p><p>{text}</p></article>")
    assert found.startswith(f"{WORDS}\n\n"), found
    return found.removeprefix(f"{WORDS}\n\n")


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        # what a reader would take for something else
        ("*not* slanted, **not** bold", r"\*not\* slanted, \*\*not\*\* bold"),
        ("call __init__ and _x_", r"call \_\_init\_\_ and \_x\_"),
        ("# no heading", r"\# no heading"),
        ("#", r"\#"),
        ("- no item", r"\- no item"),
        ("+ no item", r"\+ no item"),
        ("* no item", r"\* no item"),
        ("1. no item", r"1\. no item"),
        ("2026) was a year", r"2026\) was a year"),
        ("> no quotation", r"\> no quotation"),
        ("---", r"\---"),
        ("* * *", r"\* * *"),
        ("```", r"\```"),
        ("~~~ x", r"\~~~ x"),
        ("~~stays~~", r"\~\~stays\~\~"),
        ("use `x` here", r"use \`x\` here"),
        ("vector<int> and </b>", r"vector\<int> and \</b>"),
        ("<!-- seen", r"\<!-- seen"),
        ("[text](/url)", r"[text\](/url)"),
        ("![text](/url)", r"![text\](/url)"),
        ("[text]: /url", r"\[text]: /url"),
        ("[x] done", r"\[x] done"),
        ("&amp; is an entity, &#65; too", r"\&amp; is an entity, \&#65; too"),
        (r"C:\*.txt and \\", r"C:\\*.txt and \\\\"),
        # and what it would not
        ("snake_case, a_b_c, 2 * 3 * 4, 5* and 6*", "snake_case, a_b_c, 2 * 3 * 4, 5* and 6*"),
        ("a * b", "a * b"),
        ("#hashtag, C# and F#", "#hashtag, C# and F#"),
        ("-5 degrees, 1.5 and 10.", "-5 degrees, 1.5 and 10."),
        ("it's [1] and [2], a] (b", "it's [1] and [2], a] (b"),
        ("a < b > c, x <- y, <3", "a < b > c, x <- y, <3"),
        ("R&D; AT&T &nothing; &", "R&D; AT&T &nothing; &"),
        (r"C:\Users\x, one ` tick", r"C:\Users\x, one ` tick"),
        ("~5 to ~10", "~5 to ~10"),
        ("a | b", "a | b"),
        ("=====", "====="),
    ],
)
def test_a_backslash_stands_where_it_is_needed_only(text: str, spelled: str) -> None:
    found = paragraph(html.escape(text, quote=False))
    assert found == spelled
    assert words(read_back(found).text()) == words(text)


@pytest.mark.parametrize(
    ("page", "spelled"),
    [
        ("a<br># b<br>=====<br>1. c<br>2. d", "a\n\\# b\n\\=====\n1\\. c\n2. d"),
        ("a | b<br>--- | ---<br>c | d", "a | b\n\\--- | ---\nc | d"),
        ("<code>a`b</code> and <code>`</code>", "``a`b`` and `` ` ``"),
        ("<code><b>x</b>*y*</code> *", "`x*y*` *"),
        ("<b>5*</b> <i>_</i>", "**5\\*** *_*"),
        ("a<b>“b”</b>c", "a“b”c"),
        ("<b>a</b><b>b</b>", "**ab**"),
        ("<b>a</b><i>b</i>", "**a**_b_"),
        ("<b>a</b><i>b</i>c", "**a**bc"),
        ("<b><i>a</i>b<i>c</i></b>", "***a*bc**"),
        ("<b># a</b>", "**# a**"),
        ("<b> <code>x</code></b>y", "`x`y"),
        ("[a <code>b]: c</code>", "\\[a `b]: c`"),
        ("&lt;a:<code>b&gt;</code>", "\\<a:`b>`"),
    ],
)
def test_what_the_page_emphasizes(page: str, spelled: str) -> None:
    found = paragraph(page)
    assert found == spelled
    assert words(read_back(found).text()) == words(
        LexborHTMLParser(page.replace("<br>", " ")).text()
    )


@pytest.mark.parametrize(
    ("page", "spelled"),
    [
        ("<s>a&lt;</s><del>b c&gt;</del>", r"~~a\<b c>~~"),
        ("<i><s>a&lt;</s></i><s>b&gt;</s>", r"~~a\<b>~~"),
        ("<b>&amp;am</b><strong>p;</strong>", r"**\&amp;**"),
        ("<b>x&amp;</b>lt;y", r"x\&lt;y"),
        ("<b>[a]</b><b>(b)</b>", r"**[a\](b)**"),
    ],
)
def test_what_marks_without_delimiters_divide_is_beside_each_other(page: str, spelled: str) -> None:
    assert paragraph(f"{page} {WORDS}") == f"{spelled} {WORDS}"


def test_headings_and_what_ends_them() -> None:
    for text, spelled in [
        ("*a* #", r"\*a\* \#"),
        ("C#", "C#"),
        ("1. One", "1. One"),
        ("###", r"##\#"),
    ]:
        found = markdown(f"<h1>T</h1><p>{WORDS}<h2>{text}</h2><p>{WORDS}")
        assert f"\n\n## {spelled}\n\n" in found
        title = read_back(found).css_first("h2")
        assert title is not None and title.text() == text


def test_lists_and_lines_stay_in_their_cells() -> None:
    page = f"""<article><p>{WORDS}</p><table><tr><th>Name</th><th>Parts | more</th></tr>
    <tr><td>one<br>two</td><td><ul><li>a*b*</li><li>c<ol><li>d</li></ol></li></ul></td></tr>
    <tr><td><p>first</p><p>second</p></td><td>see <code>x|y</code><pre>if a:
    b | c</pre></td></tr></table></article>"""
    found = markdown(page)
    assert found.removeprefix(f"{WORDS}\n\n") == (
        "| Name | Parts \\| more |\n| --- | --- |\n"
        "| one<br>two | - a\\*b\\*<br>- c<br>1. d |\n"
        "| first<br>second | see `x\\|y`<br>`if a:`<br>`b \\| c` |"
    )
    cells = [words(cell.text()) for cell in read_back(found).css("td")]
    assert cells == ["one two", "- a*b* - c 1. d", "first second", "see x|y if a: b | c"]


def test_a_table_in_an_item_is_a_table() -> None:
    table = "<table><tr><th>a<th>b<tr><td>1<td>2</table>"
    found = markdown(f"<article><p>{WORDS}<ol><li>{table}<li>x {table}</ol></article>")
    assert found.removeprefix(f"{WORDS}\n\n") == (
        "1. | a | b |\n   | --- | --- |\n   | 1 | 2 |\n"
        "2. x\n\n   | a | b |\n   | --- | --- |\n   | 1 | 2 |"
    )
    assert len(read_back(found).css("li > table")) == 2


def test_a_page_laid_out_by_a_table_is_no_table() -> None:
    menu = "<ul>" + "".join(f"<li><a href=/{n}>Entry {n}</a></li>" for n in range(20)) + "</ul>"
    rows = f"<tr><td>Logo<td>Search</tr><tr><td>{menu}<td><p>{WORDS * 5}<p>{WORDS}</tr>"
    assert "| --- |" not in markdown(f"<table>{rows}</table>")


def test_blocks_inside_of_others_are_no_code() -> None:
    page = f"""<article><p>{WORDS}</p><ul><li><ul><li><ul><li>deep *x*</li></ul></li></ul></li></ul>
    <ul><li>a<ul><li>b<blockquote>said *he*</blockquote>on</li></ul></li></ul>
    <ol><li><h3>Title</h3><p>text *x*</p></li><li>two</li></ol></article>"""
    found = read_back(markdown(page))
    assert not found.css("code")
    assert "\\" not in (found.text() or "")
    assert [words(each.text()) for each in found.css("blockquote")] == ["said *he*"]


def test_items_of_quotations_and_numbers_that_begin_late() -> None:
    page = f"""<article><p>{WORDS}</p><blockquote><ul><li><p>a</p><p>*b*</p></li></ul></blockquote>
    <ul><li>c<ol start=7><li>d</li><li>e</li></ol></li></ul></article>"""
    found = markdown(page)
    assert found.removeprefix(f"{WORDS}\n\n") == ("> - a\n>\n>   \\*b\\*\n\n- c\n\n  7. d\n  8. e")
    read = read_back(found)
    assert [words(each.text()) for each in read.css("blockquote li p")] == ["a", "*b*"]
    assert [each.text() for each in read.css("ol > li")] == ["d", "e"]


_PIECES = st.one_of(
    st.text("ab1.)*_`~#<>[](){}&;!\\|:-+=/\"'@ \u20ac\u201c\u6f22\u00e9", max_size=8),
    st.sampled_from(["1. ", "- ", "# ", "> ", "``` ", "---", "===", "<b>", "&amp;", "](", "]:"]),
    st.sampled_from(["<a@b.c>", "<http://a.b>", "**a**", "__a__", "`a`", "\\", "|", "*", "_"]),
)
_INLINE = st.recursive(
    _PIECES.map(lambda text: html.escape(text, quote=False)),
    lambda inside: st.one_of(
        st.tuples(st.sampled_from(["b", "i", "code", "span"]), inside).map(
            lambda pair: f"<{pair[0]}>{pair[1]}</{pair[0]}>"
        ),
        st.lists(st.one_of(inside, st.just("<br>")), max_size=5).map("".join),
    ),
    max_leaves=8,
)


def _said(fragment: str) -> str:
    return words(LexborHTMLParser(fragment.replace("<br>", " ")).text() or "")


@settings(max_examples=scaled(2000), deadline=None)
@given(_INLINE)
def test_text_in_is_text_rendered(fragment: str) -> None:
    said = _said(fragment)
    if not said:
        return
    found = markdown(f"<article><p>{WORDS}</p><p>{fragment}</p><p>{WORDS}</p></article>")
    read = read_back(found)
    assert [words(each.text()) for each in read.css("p")] == [WORDS, said, WORDS], found
    assert not read.css("h1, h2, hr, ul, ol, blockquote, pre, table, img, a, s"), found


@settings(max_examples=scaled(1000), deadline=None)
@given(st.sampled_from(["h2", "li", "blockquote", "td"]), _INLINE)
def test_text_in_any_block_is_text_rendered(kind: str, fragment: str) -> None:
    said = _said(fragment)
    if not said:
        return
    around = {
        "h2": f"<h2>{fragment}</h2>",
        "li": f"<ul><li>a</li><li>{fragment}</li></ul>",
        "blockquote": f"<blockquote>{fragment}</blockquote>",
        "td": f"<table><tr><th>a</th><th>b</th></tr><tr><td>{fragment}</td><td>c</td></tr></table>",
    }[kind]
    found = markdown(f"<article><p>{WORDS}</p>{around}<p>{WORDS}</p></article>")
    read = read_back(found)
    blocks = read.css(kind)
    place = {"h2": 0, "li": 1, "blockquote": 0, "td": 0}[kind]
    assert words(blocks[place].text()) == said, found
    assert not re.search("<(?:pre|hr|img|a|s)[ >]", read.html or ""), found


_PARAGRAPHS = st.lists(
    st.sampled_from(["*a*", "_b", "1. c", "- d", "# e", "> f", "`g", "[h]: i", "<br>", "<b>j</b>"]),
    min_size=1,
    max_size=4,
).map(lambda pieces: " ".join(["x", *pieces]).replace("> f", "&gt; f"))
_BLOCKS = st.recursive(
    st.one_of(
        _PARAGRAPHS.map("<p>{}</p>".format),
        _PARAGRAPHS,
        _PARAGRAPHS.map("<h3>{}</h3>".format),
        _PARAGRAPHS.map(lambda text: "<pre>  " + text.replace("<br>", "\n\n    ") + "</pre>"),
        _PARAGRAPHS.map(lambda text: f"<table><tr><th>k<th>v<tr><td>{text}<td>w</table>"),
    ),
    lambda inside: st.one_of(
        st.lists(inside, min_size=1, max_size=3).map(
            lambda items: "<ul>" + "".join(map("<li>{}</li>".format, items)) + "</ul>"
        ),
        st.tuples(st.integers(0, 12), st.lists(inside, min_size=1, max_size=3)).map(
            lambda pair: f"<ol start={pair[0]}>" + "".join(map("<li>{}".format, pair[1])) + "</ol>"
        ),
        st.lists(inside, min_size=1, max_size=2).map(
            lambda items: f"<blockquote>{''.join(items)}</blockquote>"
        ),
        st.lists(inside, min_size=1, max_size=3).map("".join),
    ),
    max_leaves=10,
)


@settings(max_examples=scaled(500), deadline=None)
@given(_BLOCKS)
def test_blocks_inside_of_blocks_say_the_same(page: str) -> None:
    plain = extract(f"<article>{page}</article>".encode(), markdown=False).text
    found = markdown(f"<article>{page}</article>")
    read = read_back(found).text() or ""
    assert "".join(read.split()) == "".join(plain.replace(" | ", "").split()), found
