"""Pages of kinds on which extractors fail, with their main text, for `bench export`.

Each kind has four layouts of its own: names and elements as themes, forums and old sites use them.
The first two are those that the heuristics were tuned on; the other two were written before that,
and no change was made for what they gave. They are by the same hands, though, and no substitute for
pages that strangers wrote. The texts are put together at random, from a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labelled_parts import Parts

VARIANTS = 4
HELD_OUT = (2, 3)


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page and the text of its main content."""

    kind: str
    variant: int
    html: str
    text: str


def labelled_pages(seed: int = 1) -> list[LabelledPage]:
    """All of them, in the order of their kinds."""
    found = []
    for number, (kind, make) in enumerate(_KINDS.items()):
        for variant in range(VARIANTS):
            parts = Parts(seed * 1_000 + number * 10 + variant)
            html = parts.page(f"{kind} {variant}", make(parts, variant))
            found.append(LabelledPage(kind, variant, html, "\n".join(parts.gold)))
    return found


def _comments(make: Parts, variant: int) -> str:
    """An article that is shorter than what readers say of it."""
    title, text = make.title(), make.paragraphs(2, 4)
    said = [make.sentences(2, 6) for _ in range(14)]
    if variant == 0:
        items = "".join(
            f'<li class="comment even"><article class="comment-body"><footer><b>Ann</b> says:'
            f"</footer><p>{each}</p><a href='#'>Reply</a></article></li>"
            for each in said
        )
        return (
            f'<header class="site-header"><nav>{make.menu(9)}</nav></header><main><article>{title}'
            f'<div class="entry-content">{text}</div></article><div id="comments"'
            f' class="comments-area"><h2>14 thoughts</h2><ol class="comment-list">{items}</ol>'
            f"</div></main><footer>{make.footer()}</footer>"
        )
    if variant == 1:
        items = "".join(f'<div class="post-message"><p>{each}</p></div>' for each in said)
        return (
            f'<div id="nav">{make.menu(9)}</div><div class="content"><div class="post">{title}'
            f'{text}</div><div id="disqus_thread">{items}</div></div>'
            f'<div id="footer">{make.footer()}</div>'
        )
    if variant == 2:
        items = "".join(
            f'<li id="comment-{n}"><div class="vcard">Bob</div><div><p>{each}</p></div></li>'
            for n, each in enumerate(said)
        )
        return (
            f'<div class="menu">{make.menu(12)}</div><div class="hentry">{title}{text}'
            f'<h3 id="comments-title">Comments</h3><ul class="commentlist">{items}</ul></div>'
            f"<div class=credits>{make.footer()}</div>"
        )
    items = "".join(
        f'<div class="c-item"><span>Guest</span><div itemprop="comment"><p>{each}</p></div></div>'
        for each in said
    )
    return (
        f'<div class="wrap"><div class="story">{title}{text}</div><section'
        f' class="user-comments-section"><h2>What readers say</h2>{items}</section></div>'
        f"{make.footer()}"
    )


def _poem(make: Parts, variant: int) -> str:
    title = make.title()
    stanzas = [[make.line() for _ in range(4)] for _ in range(5)]
    around = f'<div class="sidebar"><h3>More poems</h3>{make.menu(14)}</div>'
    if variant == 0:
        text = "".join(f"<p>{'<br>'.join(stanza)}</p>" for stanza in stanzas)
        return f"<nav>{make.menu(8)}</nav><article>{title}{text}</article>{around}"
    if variant == 1:
        text = "".join(f"<p>{line}</p>" for stanza in stanzas for line in stanza)
        return (
            f'<div id="top">{make.menu(8)}</div><div class="poem">{title}{text}</div>{around}'
            f'<div class="teasers">{make.teasers(3, "card")}</div>'
        )
    if variant == 2:
        text = "".join(
            f'<div class="stanza">{"".join(f"<div>{line}</div>" for line in stanza)}</div>'
            for stanza in stanzas
        )
        return (
            f'<header>{make.menu(8)}</header><div class="text">{title}{text}</div>{around}'
            f'<div class="latest"><p>{make.sentences(2, 3)}</p>{make.menu(6)}</div>'
        )
    text = "".join(f"<li>{line}</li>" for stanza in stanzas for line in stanza)
    return (
        f'<div id="head">{make.links(9)}</div><div id="lyrics">{title}<ul>{text}</ul></div>{around}'
        f"<div id=foot>{make.footer()}</div>"
    )


def _links(make: Parts, variant: int) -> str:
    """An article that is a list of links."""
    title, intro = make.title(), f"<p>{make.want(make.sentence())}</p>"
    labels = [make.want(make.phrase()) for _ in range(25)]
    nav = f"<nav>{make.menu(12)}</nav>"
    anchors = [f'<a href="/a{n}">{label}</a>' for n, label in enumerate(labels)]
    if variant == 0:
        items = "".join(f"<li>{each}</li>" for each in anchors)
        return (
            f"{nav}<article>{title}{intro}<ul>{items}</ul></article>"
            f"<footer>{make.footer()}</footer>"
        )
    if variant == 1:
        text = "".join(f"<p>{each}</p>" for each in anchors)
        return (
            f'<div class="navbar">{make.menu(12)}</div><div id="content">{title}{intro}{text}</div>'
            f'<div class="footer">{make.footer()}</div>'
        )
    if variant == 2:
        items = "".join(f"<dt>{each}</dt><dd>{make.want(make.phrase())}</dd>" for each in anchors)
        return (
            f'<div class="topnav">{make.links(8)}</div><div class="main">{title}{intro}<dl>{items}'
            f"</dl></div><div class=bottom>{make.footer()}</div>"
        )
    items = "".join(f"<li>{each}</li>" for each in anchors)
    return (
        f'<div role="navigation">{make.menu(10)}</div><div role="main">{title}{intro}'
        f"<ol>{items}</ol></div><div role=contentinfo>{make.footer()}</div>"
    )


def _forum(make: Parts, variant: int) -> str:
    title = make.title()
    posts = [make.want(make.sentences(1, 4)) for _ in range(6)]
    if variant == 0:
        text = "".join(
            f'<div class="post"><div class="author"><a href="/u">user{n}</a></div>'
            f'<div class="content"><p>{each}</p></div></div>'
            for n, each in enumerate(posts)
        )
        return f'<div class="menu">{make.menu(9)}</div><div id="page-body">{title}{text}</div>'
    if variant == 1:
        text = "".join(
            f'<article class="message"><header><a href="/u">user</a></header><div class='
            f'"message-body">{each}</div></article>'
            for each in posts
        )
        return f"<nav>{make.menu(9)}</nav>{title}<div class=thread>{text}</div>{make.footer()}"
    if variant == 2:
        text = "".join(
            f'<tr><td width="150"><a href="/u">user{n}</a></td><td>{each}</td></tr>'
            for n, each in enumerate(posts)
        )
        return f"<p>{make.links(9)}</p>{title}<table class=forumline>{text}</table>{make.footer()}"
    text = "".join(
        f'<li><div class="name">user</div><blockquote class="postcontent">{each}</blockquote></li>'
        for each in posts
    )
    return f'<div class="above_body">{make.menu(12)}</div>{title}<ol id="posts">{text}</ol>'


def _tables(make: Parts, variant: int) -> str:
    title = make.title()
    text = f"<p>{make.want(make.sentence())}</p>" + make.table(14, 3 + variant % 2)
    nav = make.menu(14)
    return (
        f"<nav>{nav}</nav><main>{title}{text}</main><footer>{make.footer()}</footer>",
        f'<div class="sidebar">{nav}</div><div class="page">{title}{text}</div>{make.footer()}',
        f'<table><tr><td valign="top">{nav}</td><td>{title}{text}</td></tr></table>',
        f'<div id="left">{nav}</div><div id="middle">{title}{text}</div><div>{make.footer()}</div>',
    )[variant]


def _code(make: Parts, variant: int) -> str:
    title = make.title()
    text = "".join(make.paragraphs(1, 1) + make.code() for _ in range(4))
    return (
        f"<header><nav>{make.menu(8)}</nav></header><article class='post'>{title}{text}</article>"
        f"<aside>{make.teasers(4, 'card')}</aside>",
        f'<div class="header">{make.menu(8)}</div><div class="container"><div class="col-8">{title}'
        f'{text}</div><div class="col-4">{make.menu(20)}</div></div>',
        f'<div class="nav-bar">{make.links(8)}</div><div class="readme">{title}{text}</div>'
        f'<div class="author-bio"><p>{make.sentences(1, 2)}</p></div>{make.footer()}',
        f'<div id="mast">{make.links(6)}</div>{title}{text}<hr>{make.footer()}',
    )[variant]


def _docs(make: Parts, variant: int) -> str:
    title = make.title()
    text = "".join(make.title("h2") + make.paragraphs(1, 2) for _ in range(3))
    items = "".join(f"<li>{make.want(make.phrase())}</li>" for _ in range(5))
    text += f"<ul>{items}</ul>" + make.code()
    return (
        f'<div class="sphinxsidebar">{make.menu(30)}</div><div class="document"><div role="main">'
        f'{title}{text}</div></div><div class="related">{make.links(4)}</div>',
        f'<nav class="md-nav">{make.menu(40)}</nav><main><article class="md-content">{title}{text}'
        f"</article></main><footer>{make.footer()}</footer>",
        f'<div class="navheader">{make.links(4)}</div><div class="refentry">{title}{text}</div>'
        f'<div class="navfooter">{make.links(4)}</div>',
        f'<table width="100%"><tr><td>{make.links(6)}</td></tr></table><hr>{title}{text}<hr>'
        f"<p>{make.links(5)}</p>",
    )[variant]


def _news(make: Parts, variant: int) -> str:
    title, text = make.title(), make.paragraphs(5, 10)
    cards = make.teasers(9, "card")
    return (
        f'<header><nav>{make.menu(25)}</nav></header><main><article>{title}<div class="share">'
        f'{make.menu(4)}</div>{text}</article><section class="related">{cards}</section></main>',
        f'<div class="topbar">{make.menu(20)}</div><div class="story-body">{title}{text}</div>'
        f'<div class="more-stories">{cards}</div><div class="footer">{make.footer()}</div>',
        f'<div class="gnb">{make.menu(20)}</div><div class="art_wrap"><div class="art_txt">{title}'
        f'{text}</div></div><div class="list_news">{cards}</div>{make.footer()}',
        f'<div id="hd">{make.links(12)}</div><div id="bd">{title}{text}<div class="teaser-list">'
        f'{cards}</div></div><div id="ft">{make.footer()}</div>',
    )[variant]


def _shop(make: Parts, variant: int) -> str:
    title, text = make.title(), make.paragraphs(1, 2)
    items = "".join(f"<li>{make.want(make.phrase())}</li>" for _ in range(6))
    text += f"<ul>{items}</ul>" + make.table(5, 2)
    cards = make.teasers(12, "product-card")
    return (
        f'<nav>{make.menu(40)}</nav><main><section class="product">{title}{text}</section>'
        f'<section class="recommendations">{cards}</section></main>'
        f"<footer>{make.footer()}</footer>",
        f'<div class="menu">{make.menu(40)}</div><div class="product-detail">{title}{text}</div>'
        f'<div class="related-products">{cards}</div>{make.footer()}',
        f'<div class="cat-tree">{make.menu(40)}</div><div id="item">{title}{text}</div>'
        f'<div id="others-bought">{cards}</div>{make.footer()}',
        f'<div class="b-menu">{make.menu(30)}</div><div class="b-goods">{title}{text}</div>'
        f'<div class="b-similar">{cards}</div>{make.footer()}',
    )[variant]


def _notice(make: Parts, variant: int) -> str:
    """A short text beside a long notice."""
    title, text, notice = make.title(), make.paragraphs(2, 3), make.cookies() * 2
    return (
        f'<div id="cookie-banner">{notice}</div><nav>{make.menu(9)}</nav>'
        f"<main>{title}{text}</main>",
        f'<div class="content">{title}{text}</div><div class="modal consent">{notice}</div>',
        f'<div class="cc-window">{notice}</div><div class="page">{title}{text}</div>',
        f'<div id="CybotCookiebotDialog">{notice}</div><div class="x">{title}{text}</div>'
        f"{make.footer()}",
    )[variant]


def _old(make: Parts, variant: int) -> str:
    """Laid out by tables, with text between line breaks."""
    title = f"<font size=5><b>{make.want(make.phrase())}</b></font>"
    text = "<br><br>".join(make.want(make.sentences(2, 4)) for _ in range(5))
    side = "<br>".join(make.links(1) for _ in range(14))
    return (
        f'<table width="100%"><tr><td width="20%">{side}</td><td>{title}<br><br>{text}</td></tr>'
        f"</table><center>{make.footer()}</center>",
        f"<center>{make.links(8)}</center><blockquote>{title}<p>{text}</blockquote><hr>"
        f"{make.footer()}",
        f'<table><tr><td colspan="2">{make.links(8)}</td></tr><tr><td>{side}</td><td><table><tr>'
        f"<td>"
        f"{title}</td></tr><tr><td>{text}</td></tr></table></td></tr></table>",
        f"<font size=1>{make.links(8)}</font><p>{title}<p>{text}<p><font size=1>{side}</font>",
    )[variant]


def _recipe(make: Parts, variant: int) -> str:
    title, intro = make.title(), make.paragraphs(1, 1)
    parts = "".join(f"<li>{make.want(make.phrase())}</li>" for _ in range(8))
    steps = "".join(f"<li>{make.want(make.sentences(1, 2))}</li>" for _ in range(5))
    text = f"{intro}<h2>{make.want('Ingredients')}</h2><ul>{parts}</ul>"
    text += f"<h2>{make.want('Method')}</h2><ol>{steps}</ol>"
    said = "".join(f"<p>{make.sentences(1, 3)}</p>" for _ in range(9))
    return (
        f'<nav>{make.menu(9)}</nav><article class="recipe">{title}{text}</article>'
        f'<section class="comments">{said}</section>',
        f'<div class="nav">{make.menu(9)}</div><div class="recipe-card">{title}{text}</div>'
        f'<div class="reviews comments">{said}</div>',
        f'<div class="tabs">{make.menu(9)}</div><div class="rz">{title}{text}</div>'
        f'<div class="comment-section">{said}</div>{make.footer()}',
        f"<header>{make.menu(9)}</header><main>{title}{text}<div class='feedback'>"
        f"{make.teasers(3, 'teaser')}</div></main>",
    )[variant]


_KINDS: dict[str, Callable[[Parts, int], str]] = {
    "comments": _comments,
    "poem": _poem,
    "links": _links,
    "forum": _forum,
    "table": _tables,
    "code": _code,
    "docs": _docs,
    "news": _news,
    "shop": _shop,
    "notice": _notice,
    "old": _old,
    "recipe": _recipe,
}
