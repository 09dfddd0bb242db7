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
