"""Which part of a page is its main content, where length and links say something else."""

from __future__ import annotations

import pytest

from crawl.maincontent.extract import extract
from crawl.maincontent.names import Role, role_of_names

STORY = " ".join(f"The story goes on for sentence {number}, as stories do." for number in range(6))
SAID = "I have read this with great interest, and I think that it is all quite wrong. " * 3
MENU = "<ul>" + "".join(f"<li><a href=/{n}>Entry {n}</a></li>" for n in range(20)) + "</ul>"
LINE = "a line of verse that is rather short"


def text(page: str) -> str:
    return extract(page.encode(), markdown=False).text


@pytest.mark.parametrize(
    "comments",
    [
        "<section id=comments class=comments-area><ol class=comment-list>{}</ol></section>",
        "<div id=disqus_thread>{}</div>",
        "<div class='user-comments'>{}</div>",
        "<ul class=commentlist>{}</ul>",
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "<main><article><h1>T</h1><p>{story}</p></article>{comments}</main>",
        "<article><h1>T</h1><div class=entry-content><p>{story}</p></div>{comments}</article>",
        "<div><div class=post><h1>T</h1><p>{story}</p></div>{comments}</div>",
    ],
)
def test_an_article_is_not_lost_to_longer_comments(around: str, comments: str) -> None:
    said = f"<li class=comment><article class=comment-body><p>{SAID}</p></article></li>" * 20
    page = around.format(story=STORY, comments=comments.format(said))
    assert text(page) == f"T\n\n{STORY}"


def test_comments_that_are_all_there_is_are_the_main_content() -> None:
    said = f"<div class=comment><p>{SAID}</p></div>" * 5
    page = f"<nav>{MENU}</nav><h1>What do you think?</h1><div id=comments>{said}</div>"
    assert text(page).count("great interest") == 15


@pytest.mark.parametrize(
    ("tag", "names", "role"),
    [
        ("article", "post comments-open", Role.MAIN),
        ("article", "comment-body", Role.COMMENTS),
        ("article", "no-comments hentry", Role.MAIN),
        ("div", "comment-12", Role.COMMENTS),
        ("main", "comments", Role.MAIN),
        ("div", "commentary", Role.NONE),
        ("body", "comments", Role.NONE),
    ],
)
def test_names_of_comments(tag: str, names: str, role: Role) -> None:
    assert role_of_names(tag, names, "", "", False) is role


@pytest.mark.parametrize(
    "lines",
    [
        "".join(f"<p>{LINE} {n}</p>" for n in range(16)),
        "".join(f"<div>{LINE} {n}</div>" for n in range(16)),
        "<ul>" + "".join(f"<li>{LINE} {n}</li>" for n in range(16)) + "</ul>",
        "".join(
            "<div>" + "".join(f"<p>{LINE} {n + m}</p>" for m in range(4)) + "</div>"
            for n in range(0, 16, 4)
        ),
    ],
)
def test_short_lines_are_an_article(lines: str) -> None:
    teasers = f"<div class=x1><h3>Other</h3><p>{STORY[:140]}</p></div>" * 2
    page = f"<div id=a>{MENU}</div><div class=poem><h1>T</h1>{lines}</div><div>{teasers}</div>"
    found = text(page)
    assert all(f"{LINE} {n}" in found for n in range(16))
    assert "Entry" not in found


@pytest.mark.parametrize(
    "page",
    [
        "<nav>{menu}</nav><article><h1>T</h1><p>Here they are.</p>{list}</article>",
        "<nav>{menu}</nav><main>{list}</main><footer>{menu}</footer>",
        "<div class=menu>{menu}</div><div id=content><h1>T</h1>{list}</div><div>{menu}</div>",
        "<div class=menu>{menu}</div><div><h1>T</h1>{paragraphs}</div>",
    ],
)
def test_an_article_may_be_a_list_of_links(page: str) -> None:
    links = [f"<a href=/{n}>The chapter about subject {n}</a>" for n in range(15)]
    found = text(
        page.format(
            menu=MENU,
            list="<ul>" + "".join(map("<li>{}</li>".format, links)) + "</ul>",
            paragraphs="".join(map("<p>{}</p>".format, links)),
        )
    )
    assert found.count("The chapter about subject") == 15
    assert "Entry" not in found


def test_recommendations_are_none_however_long() -> None:
    cards = f"<div class=card><h3>Other</h3><p>{STORY[:140]}</p></div>" * 12
    article = f"<section><h1>T</h1><p>{STORY}</p><p>{STORY}</p></section>"
    page = f"<main>{article}<section class=related>{cards}"
    assert text(page) == f"T\n\n{STORY}\n\n{STORY}"
    # but a page all of which is called so has its text
    assert STORY in text(f"<div class='sidebar layout'><h1>T</h1><p>{STORY * 5}</div><p>{STORY}")


ARTICLE = f"<article><h1>T</h1><p>{STORY}</p>{{}}<p>{STORY}</p></article>"


@pytest.mark.parametrize(
    "aside",
    [
        "<figure><img src=i><figcaption>A cat. Photo: A. Person</figcaption></figure>",
        "<figure><img src=i><span>A cat that sleeps on a chair</span></figure>",
        "<div class=wp-caption><img src=i><p class=wp-caption-text>A cat on a chair</p></div>",
        "<div><img src=i><div class=imageDescription>A cat that sleeps on a chair</div></div>",
        "<div class=author-box><p>The author has written for this paper for years.</p></div>",
        "<div class=articleMeta>12.12.2022, 08:30</div>",
        "<div class=readingTime>Four minutes</div>",
        "<div id=respond><h3>Leave a comment</h3><p>Your address is not published.</p></div>",
        "<form><label>Your comment, please be polite</label><textarea></textarea></form>",
        "<p><a href=/o>Read also: another article which is about something else</a></p>",
        "<h3>Read also</h3><ul class=related><li><a href=/o>Another article</a></ul><h2>Next</h2>",
        "<p>Read also:</p><p><a href=/o>Another article</a></p><h2>Next</h2>",
        "<article class='card modal'><p>Log in to read on, with the name you chose.</p></article>",
    ],
)
def test_what_stands_beside_an_article_is_left_out(aside: str) -> None:
    expected = f"T\n\n{STORY}\n\n{'Next' if 'Next' in aside else ''}\n\n{STORY}"
    assert text(ARTICLE.format(aside)) == expected.replace("\n\n\n\n", "\n\n")


@pytest.mark.parametrize(
    "part",
    [
        "<figure><figcaption>Listing 1</figcaption><pre>x = 1</pre></figure>",
        "<figure><div>What a figure without a picture says</div></figure>",
        "<div class=credits>They are listed here</div>",
        "<figure><blockquote><p>Whoever reads this is right.</p></blockquote></figure>",
        "<form><p>{story}</p></form>",
        "<div id=TOC_TITLE_1><h2>How to</h2><p>{story}</p></div>",
        "<section id=author><h2>Author</h2><p>It was written by somebody.</p></section>",
        "<div class=section id=see-also><h2>See also</h2><p>The other manual.</p></div>",
        "<div id=cve-2021-45116-potential-information-disclosure><p>{story}</p></div>",
        "<div class='Part Part--Ads'><p>{story}</p></div>",
        "<div class='text no-sidebar margin-bottom'><p>A short text.</p></div>",
        "<div class=teaser-text><p>{story}</p></div>",
        "<dl><dt>Where</dt><dd><a href=/x>{address}</a></dd><dt>What</dt><dd>{story}</dd></dl>",
        "<h2>Parts</h2><p>{story}</p>",
    ],
)
def test_names_that_mean_something_else_lose_nothing(part: str) -> None:
    part = part.format(story=STORY.replace("story", "part"), address="https://example.org/" * 4)
    found = text(ARTICLE.format(part))
    words = extract(f"<p>x</p>{part}".encode(), markdown=False).text.split()[1:]
    assert words and " ".join(words) in " ".join(found.split())


@pytest.mark.parametrize(
    "page",
    [
        "<main><h1>T</h1><p class=lead>{lead}</p><div class=entry-content><p>{story}</p></div>",
        "<div><h1>T</h1><div class=teaser-text><p>{lead}</p></div></div>"
        "<div class=article-body><p>{story}</p></div>",
        "<article><header><p>{lead}</p></header><div><p>{story}</p></div></article>",
    ],
)
def test_the_lead_of_an_article_stays(page: str) -> None:
    lead = "What is told here at length is, in short, that stories go on and on, as they do."
    assert lead in text(page.format(lead=lead, story=STORY * 3))


def test_an_anchor_that_is_never_closed_makes_no_link_of_what_follows() -> None:
    """As DocBook writes XHTML: a browser opens the element, and never closes it."""
    sections = "".join(
        f"<div class=section><h2><a id=s{n}/>Section {n}</h2><p>{STORY}</p></div>" for n in range(3)
    )
    found = text(f"<body><h1>T</h1>{sections}")
    assert found.count(STORY) == 3
    # and where the page would harm a tree's builder
    nested = "<div>" * 600 + f"<h1>T</h1>{sections}" + "</div>" * 600
    assert text(nested).count(STORY) == 3


def test_readings_of_characters_are_no_words() -> None:
    assert "\u5b50\u3069\u3082" in text(
        "<p><ruby>\u5b50<rp>(</rp><rt>\u3053</rt></ruby>\u3069\u3082</p>"
    )


SHORT = "It says little more than this."
PROSE = "There is much to be said of this, and whoever reads on is told all of it, at length. " * 5


@pytest.mark.parametrize(
    "page",
    [
        # by DocBook, by AsciiDoc, by Sphinx and by hand
        f'<div class="refentry"><div class="refsect1"><h2>One</h2><p>{PROSE}</p></div>'
        f'<div class="refsect1"><h2>Two</h2><p>{SHORT}</p></div></div>',
        f'<div id="content"><div class="sect1"><h2>Two</h2><div class="body"><p>{SHORT}</p></div>'
        f'</div><div class="sect1"><h2>One</h2><div class="body"><p>{PROSE}</p></div></div></div>',
        f'<div class="section"><h1>Two</h1><p>{SHORT}</p><div class="section"><h2>One</h2>'
        f"<p>{PROSE}</p></div></div>",
        f"<section><h1>Two</h1><p>{SHORT}</p><section><h2>One</h2><p>{PROSE}</p></section></section>",
    ],
)
def test_a_short_section_beside_a_long_one_stays(page: str) -> None:
    found = extract(f"<div><a href=/>Home</a></div>{page}".encode(), markdown=False).text
    assert all(each in found for each in ("One", "Two", SHORT, PROSE.strip()))
    assert "Home" not in found


@pytest.mark.parametrize("target", ['<a id="x"/>', '<a name="x">', "<A\nid=x />"])
@pytest.mark.parametrize("head", ["", "<div>" * 3_000])
def test_where_links_lead_to_is_no_link(target: str, head: str) -> None:
    """Browsers ignore the end of a tag by XML's rules: all that follows is in it."""
    page = f"{head}<h1>{target}Title</h1><p>{PROSE}</p><ul><li>{target}{SHORT}</li></ul>"
    found = extract(page.encode(), markdown=False).text
    assert all(each in found for each in ("Title", PROSE.strip(), SHORT))


def test_links_to_a_place_itself_are_not_said() -> None:
    page = (
        f"<h1>Title<a href='#t'>¶</a></h1><p>{PROSE}</p>"
        "<dl><dt id='f'><code>f</code>(x)<a class='headerlink' href='#f'>¶</a></dt>"
        f"<dd>{SHORT}</dd></dl><p>The sign is ¶</p>"
    )
    found = extract(page.encode(), markdown=True).text
    assert "# Title\n" in found and "\n`f`(x)\n" in found and found.endswith("The sign is ¶")


def test_sections_beside_the_title_in_a_header_stay() -> None:
    """As AsciiDoc writes manual pages: the name, and what it is for, stand there."""
    name = "<h2>NAME</h2><div class=sectionbody><p>tool - does it</p></div>"
    body = f"<div id=content><h2>DESCRIPTION</h2><p>{PROSE}</p></div>"
    head = "<h1>tool(1)</h1>"
    said = text(f"<div id=header>{head}{name}</div>{body}")
    assert said.startswith("tool(1)\n\nNAME\n\ntool - does it\n\nDESCRIPTION")
    by_line = text(f"<div id=header>{head}<p>by somebody</p></div>{body}")
    assert by_line.startswith("tool(1)\n\nDESCRIPTION")
