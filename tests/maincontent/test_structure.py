"""Emphasis, lists, quotations, struck text and formulas: Markdown says what the page says."""

from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from crawl.maincontent.extract import extract
from tests.maincontent.markdown_reader import READER

WORDS = "It is said that these few words are a page of their own, and nothing else."


def rendered(page: str, *, markdown: bool = True) -> str:
    found = extract(f"<article><p>{WORDS}</p>{page}</article>".encode(), markdown=markdown).text
    assert found.startswith(f"{WORDS}\n\n"), found
    return found.removeprefix(f"{WORDS}\n\n")


@pytest.mark.parametrize(
    ("page", "markdown"),
    [
        (
            "<strong>Note: <em>see <b>this</b> page</em> first</strong>",
            "**Note: *see this page* first**",
        ),
        ("<b><strong>Warning</strong></b>", "**Warning**"),
        ("<b><div>one</div><div>two</div></b>", "**one**\n\n**two**"),
        ("<i>one<br>two</i>", "*one*\n*two*"),
        ("<b>a <i>b</i></b> <i>c</i>", "**a *b*** *c*"),
        ("<code>a<br>b</code>", "`a`\n`b`"),
        ("<b> * </b> <i>x \\ </i>", "**\\*** *x \\\\*"),
        # a list's item, and a quotation, keep what is in them
        ("<ul><li>a<blockquote>b</blockquote>c</li></ul>", "- a\n\n  > b\n\n  c"),
        ("<ul><li><h3>T</h3>a</li></ul>", "- ### T\n\n  a"),
        (
            "<blockquote><h2>T</h2><pre>x\n\ny</pre></blockquote>",
            "> ## T\n>\n> ```\n> x\n>\n> y\n> ```",
        ),
        (
            "<blockquote><ol><li>a<blockquote>b</blockquote></li><li>c</li></ol></blockquote>",
            "> 1. a\n>\n>    > b\n> 2. c",
        ),
        ("<blockquote>a</blockquote><blockquote>b</blockquote>", "> a\n\n> b"),
        ("<ul><li><ul><li>a</li></ul></li><li>b</li></ul>", "- - a\n- b"),
        ("<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c"),
        # lists beside each other are two, and numbers are the page's
        ("<ul><li>a</li></ul><ul><li>b</li></ul>", "- a\n\n+ b"),
        ("<ol><li>a</li></ol><ol><li>b</li></ol>", "1. a\n\n1) b"),
        ("<ol><li>a<li value=7>b<li>c</ol>", "1. a\n7) b\n8) c"),
        ("<ol reversed><li>a<li>b</ol>", "2. a\n1) b"),
        ("<ol start=123456789><li>a<li>b</ol>", "123456789. a\n123456790. b"),
        ("<ol start=' +3 '><li>a</ol>", "3. a"),
        ("<ul><li>a<li>--</ul>", "- a\n- \\--"),
        # a caption stands before its table
        (
            "<table><caption>Cap</caption><tr><th>a<th>b<tr><td>1<td>2</table>",
            "Cap\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
        ),
    ],
)
def test_structure_is_kept(page: str, markdown: str) -> None:
    found = rendered(page)
    assert found == markdown
    read = LexborHTMLParser(READER.render(found))
    plain = rendered(page, markdown=False)
    assert "".join((read.text() or "").split()) == "".join(plain.replace(" | ", "").split())


@pytest.mark.parametrize(
    ("page", "markdown", "plain"),
    [
        ("a <del>b</del> c", "a ~~b~~ c", "a c"),
        ("was <s>10 €</s> 8 €", "was ~~10 €~~ 8 €", "was 8 €"),
        ("a<del>, b</del>c", "ac", "ac"),  # Markdown cannot say it
        ("<h2>A <del>B</del></h2>", "## A", "A"),
        ("<pre>a <del>b</del> c</pre>", "```\na  c\n```", "a  c"),
        ("a<del><pre>b</pre></del>", "a", "a"),
        ("a <ins>b</ins>", "a b", "a b"),
        ("x<sup>2</sup>", "x²", "x²"),
        ("x<sup>-1</sup>y<sup>n</sup>", "x⁻¹yⁿ", "x⁻¹yⁿ"),
        ("2<sup>k+1</sup>", "2^(k+1)", "2^(k+1)"),
        ("e<sup><i>x</i></sup>", "e^(x)", "e^(x)"),
        ("the 1<sup>st</sup> of May", "the 1st of May", "the 1st of May"),
        ("so<sup>[1]</sup> and<sup>2</sup>", "so[1] and²", "so[1] and²"),
        ("<sup>1 </sup>In the beginning", "1 In the beginning", "1 In the beginning"),
        ("said<sup>[1] </sup>so", "said[1] so", "said[1] so"),
        ("said<sup><br>(note)<br></sup>so", "said (note) so", "said (note) so"),
        ("x<sup> 2 </sup>y", "x² y", "x² y"),
        ("Name<sup>®</sup> Brand<sup>TM</sup>", "Name® BrandTM", "Name® BrandTM"),
        ("H<sub>2</sub>O, a<sub>ij</sub>, b<sub>K</sub>", "H₂O, aᵢⱼ, b_(K)", "H₂O, aᵢⱼ, b_(K)"),
        ('a <math alttext="{\\displaystyle x^{2}}"><mi>x</mi></math>.', "a x^{2}.", "a x^{2}."),
        (
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x_1"
            "</annotation></semantics></math>",
            "x_1",
            "x_1",
        ),
        (
            "<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo>"
            "<mfrac><mn>1</mn><mi>y</mi></mfrac></math>",
            "x²+1/y",
            "x²+1/y",
        ),
    ],
)
def test_struck_text_and_formulas(page: str, markdown: str, plain: str) -> None:
    assert rendered(page) == markdown
    assert rendered(page, markdown=False) == plain


def test_a_page_most_of_which_is_struck_out_has_its_text() -> None:
    page = f"<p>Title<strike><p>{WORDS}<pre>code</pre><table><tr><td>a<td>b<tr><td>c<td>d</table>"
    assert extract(page.encode(), markdown=False).text == (
        f"Title\n\n{WORDS}\n\ncode\n\na | b\nc | d"
    )
    assert "~~" not in extract(page.encode(), markdown=True).text


def test_a_formula_that_is_set_twice_is_said_once() -> None:
    math = "<math><semantics><mi>x</mi><annotation encoding=TeX>x^2</annotation></semantics></math>"
    katex = f"<span class=katex>{math}<span class=katex-html aria-hidden=true>x2</span></span>"
    assert rendered(f"<p>So <span>it</span> is {katex}.</p>") == "So it is x^2."


def test_control_characters_of_a_page_are_no_marks() -> None:
    assert rendered("<p>a\x05b&#5;c&#x05;d &#65;</p>") == "abcd A"
