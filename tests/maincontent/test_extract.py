"""The main content of pages, honest and hostile."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.maincontent import walk
from crawl.maincontent.extract import extract
from tests.examples import scaled

LONG = " ".join(f"Sentence number {number} tells a little more, as such do." for number in range(9))
MENU = "<ul>" + "".join(f"<li><a href=/{n}>Entry {n}</a></li>" for n in range(20)) + "</ul>"


_TAGS = [
    *("<p>", "<div>", "</div>", "<ul>", "<li>", "</ul>", "<table>", "<tr>", "<td>", "<th>"),
    *("</table>", "<pre>", "</pre>", "<b>", "</b>", "<i>", "<code>", "</code>", "<a href=x>"),
    *("</a>", "<h1>", "</h1>", "<h3>", "<blockquote>", "<br>", "<hr>", "<nav>", "</nav>"),
    *("<main>", "<article>", "<p hidden>", "<dl>", "<dt>", "<!--", "-->", "<script>"),
    *("</script>", "</blockquote>", "</li>", "<svg>", "<math>", "<select>", "<body>", "<caption>"),
]


def markdown(page: str) -> str:
    return extract(page.encode(), markdown=True).text


def text(page: str) -> str:
    return extract(page.encode(), markdown=False).text


@pytest.mark.parametrize(
    "page",
    [
        f"<nav>{MENU}</nav><article><h1>T</h1><p>{LONG}</article><footer>© {MENU}</footer>",
        f"<div id=a>{MENU}</div><div id=b><h1>T</h1><div><p>{LONG}</div></div><div>{MENU}</div>",
        f"<table><tr><td>{MENU}<td><h1>T</h1><p>{LONG}</table>",
        f"<body class='has-sidebar nav'><div class=sidebar><p>{LONG[:90]}</div><h1>T</h1><p>{LONG}",
        f"<header><h1>T</h1></header><main><p>{LONG}</main><aside><p>{LONG[:99]}</aside>",
        f"<h1>T</h1><div class=cookie-consent><p>{LONG[:200]}</div><section><p>{LONG}</section>",
        f"<form id=aspnet><div class=menu>{MENU}</div><h1>T</h1><p>{LONG}</form>",
    ],
)
def test_menus_footers_and_notices_are_left_out(page: str) -> None:
    assert text(page) == f"T\n\n{LONG}"
    assert markdown(page) == f"# T\n\n{LONG}"


def test_structure_becomes_markdown() -> None:
    page = f"""<article><h1>T &amp; U</h1><p>{LONG}</p><h2>A <i>b</i></h2>
    <p>Some <b>bold </b>and <em>slanted</em>, <code>x = 1</code>, <a href=/x>a link</a>.<br>New line
    <ol><li>one<li>two<ul><li>inner</li></ul></li><li><p>three</p><p>more of three</p></li></ol>
    <blockquote><p>Said he.</p><p>Said she.</p></blockquote>
    <pre class="language-c">if (a) {{
    ```
}}</pre>
    <table><tr><th>k|ey<th>value<tr><td>a<td><b>1</b><tr><td>b</table></article>"""
    assert markdown(page) == (
        f"# T & U\n\n{LONG}\n\n## A b\n\n"
        "Some **bold** and *slanted*, `x = 1`, a link.\nNew line\n\n"
        "1. one\n2. two\n   - inner\n3. three\n\n   more of three\n\n"
        "> Said he.\n>\n> Said she.\n\n"
        "````c\nif (a) {\n    ```\n}\n````\n\n"
        "| k\\|ey | value |\n| --- | --- |\n| a | **1** |\n| b |  |"
    )
    plain = text(page)
    assert "Some bold and slanted, x = 1, a link.\nNew line" in plain
    assert "k|ey | value\na | 1\nb" in plain


def test_what_is_inside_an_item_begins_where_its_text_does() -> None:
    page = f"""<article><p>{LONG}</p><ol start=9><li>nine<ul><li>a<ol><li>b</ol><pre>c
d</pre></ul><li>ten<p>more</p><ul><li>e</ul></ol><ol start=-1><li>f</ol>
    <ol start=1234567890><li>g</ol></article>"""
    assert markdown(page).removeprefix(f"{LONG}\n\n") == (
        "9. nine\n   - a\n     1. b\n\n     ```\n     c\n     d\n     ```\n"
        "10. ten\n\n    more\n    - e\n\n- -1. f\n\n+ 1234567890. g"
    )


def test_headings_are_found_where_they_are() -> None:
    page = f"<h1>One</h1><p>{LONG}<h2>Two  b</h2><p>{LONG}<h3><b>Three</b></h3><p>{LONG}"
    for as_markdown in (False, True):
        found = extract(page.encode(), markdown=as_markdown)
        assert [(each.level, each.title) for each in found.headings] == [
            (1, "One"),
            (2, "Two b"),
            (3, "Three"),
        ]
        for heading in found.headings:
            line = found.text[heading.at :].split("\n")[0]
            assert line.lstrip("# ") == heading.title


def test_hidden_text_is_no_text() -> None:
    page = (
        f"<p>{LONG}<p hidden>no1<div style='display: none'>no2</div><script>no3</script>"
        "<noscript>no4</noscript><template>no5</template><svg><title>no6</title></svg>"
        "<select><option>no7</select><button>no8</button><p aria-hidden=true>no9"
    )
    assert text(page) == LONG


def test_a_page_of_links_or_of_little_text_keeps_what_it_has() -> None:
    assert "Entry 3" in text(f"<body>{MENU}</body>")
    assert text("<p>Hello</p>") == "Hello"
    assert text("") == text("<script>x</script>") == ""


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 10_000 + LONG,
        "<ul><li>" * 10_000 + LONG,
        "<blockquote>" * 10_000 + LONG,
        "<table><tr><td>" * 5_000 + LONG,
        "<table>" + "<tr>" + "<td>x" * 20_000 + "</table>" + LONG,
        "<table>" + ("<tr>" + "<td>x" * 10) * 2_000 + "</table>",
        "<b>" * 20_000 + LONG,
        "<p><b><i>" * 5_000 + LONG,
        f"<a {' '.join(f'a{n}=1' for n in range(20_000))}>{LONG}",
        "<p>" + "x" * 2_000_000,
        f"<p>{LONG}" * 1_000,
        "<pre>" + "`" * 200_000,
        "<p>" + "\x01\x02\x03\x04" * 20_000 + LONG,
        "<p>" + "<b>a</b><i>b</i>" * 5_000,
        "<!--" * 100_000 + LONG,
        "<h1>" * 20_000 + LONG,
        "<p>" + "*a _b `c ~d \\ " * 20_000,
        "<p>" + "&lt;a@ &gt;" * 20_000,
        "<p>" + "[a]: b<br>" * 20_000,
        "<p>" + "&amp;a" * 50_000 + "*" * 50_000,
        "<p>" + "<b>a</b><code>b</code><i>c</i>" * 10_000,
    ],
)
def test_hostile_pages_end_in_bounded_time(page: str) -> None:
    for as_markdown in (False, True):
        found = extract(page.encode(), markdown=as_markdown)
        assert len(found.text) < 3 * len(page) + 1000


def test_what_is_read_of_a_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_NODES", 1_000)
    monkeypatch.setattr("crawl.maincontent.extract.MAX_BYTES", 200_001)
    for elements in ("<p>a <b>b</b></p>" * 2_000, "<div><p>b</p>" * 2_000):
        found = text(f"<p>{LONG}</p>{elements}")
        assert LONG in found and len(found) < 4_000
    assert text("<p>" + "é" * 200_000) == "é" * 99_999


@settings(max_examples=scaled(300), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(_TAGS),
            st.text("ab |`*#\n&;<>\x00é漢\x01", max_size=12),
            st.just(LONG),
        ),
        max_size=40,
    )
)
def test_any_markup_gives_text_that_is_clean(pieces: list[str]) -> None:
    page = "".join(pieces).encode()
    for as_markdown in (False, True):
        found = extract(page, markdown=as_markdown)
        clean = found.text.strip("\n") if b"<pre" in page else found.text.strip("\n ")
        assert found.text == clean or "```" in found.text
        found.text.encode()
        for heading in found.headings:
            assert 0 <= heading.at < len(found.text)
            assert heading.at == 0 or found.text[heading.at - 1] == "\n"
