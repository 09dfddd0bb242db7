"""Pages whose main text is known, for `bench export`: articles, blogs, documentation, forums and
shops between menus, teasers, cookie notices and footers, with and without the elements of HTML 5.

Every word of the main content is made of one alphabet's syllables and every word around it of
another's, so that how much an extractor finds, and how much it should have left, can be counted
without an opinion.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

_MAIN = ("ka", "lo", "mi", "ne", "ru", "sa", "to", "vi", "den", "mar", "sol", "tir")
_AROUND = ("qu", "xy", "zha", "phi", "wok", "jub", "gly", "zim", "quo", "xen")


@dataclass(frozen=True, slots=True)
class MadePage:
    """A page, its main text, and what of its structure Markdown should keep."""

    kind: str
    html: str
    text: str
    headings: tuple[str, ...]
    items: tuple[str, ...]
    cells: tuple[str, ...]
    code: tuple[str, ...]


class _Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.text: list[str] = []
        self.headings: list[str] = []
        self.items: list[str] = []
        self.cells: list[str] = []
        self.code: list[str] = []

    def word(self, syllables: tuple[str, ...] = _MAIN) -> str:
        return "".join(self.chance.choices(syllables, k=self.chance.randint(1, 4)))

    def words(self, least: int, most: int) -> str:
        return " ".join(self.word() for _ in range(self.chance.randint(least, most)))

    def sentence(self) -> str:
        words = [self.word() for _ in range(self.chance.randint(6, 22))]
        if len(words) > 10:
            words[len(words) // 2] += ","
        return " ".join(words).capitalize() + "."

    def around(self, least: int, most: int) -> str:
        count = self.chance.randint(least, most)
        return " ".join(self.word(_AROUND) for _ in range(count)).capitalize()

    def link(self, least: int = 1, most: int = 4) -> str:
        return f'<a href="/{self.word(_AROUND)}/{self.chance.randrange(10**6)}">' + (
            f"{self.around(least, most)}</a>"
        )

    # --- the main content --------------------------------------------------------------
    def paragraph(self) -> str:
        sentences = [self.sentence() for _ in range(self.chance.randint(2, 6))]
        self.text.append(" ".join(sentences))
        at = self.chance.randrange(len(sentences))
        first, _, rest = sentences[at].partition(" ")
        marked = self.chance.choice(("<b>{}</b> {}", "<em>{}</em> {}", '<a href="/x">{}</a> {}'))
        sentences[at] = marked.format(first, rest)
        return f"<p>{' '.join(sentences)}</p>\n"

    def heading(self, level: int) -> str:
        words = self.words(2, 6)
        self.headings.append(words)
        self.text.append(words)
        return f"<h{level}>{words}</h{level}>\n"

    def list(self) -> str:
        items = [self.words(3, 14) for _ in range(self.chance.randint(3, 7))]
        self.items += items
        self.text += items
        tag = self.chance.choice(("ul", "ol"))
        return f"<{tag}>\n" + "".join(f"<li>{item}</li>\n" for item in items) + f"</{tag}>\n"

    def table(self) -> str:
        rows = [[self.words(1, 2) for _ in range(4)] for _ in range(self.chance.randint(3, 8))]
        self.cells += [cell for row in rows for cell in row]
        self.text += [" ".join(row) for row in rows]
        lines = "".join(
            "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in row) + "</tr>\n"
            for tag, row in zip(["th"] + ["td"] * len(rows), rows, strict=False)
        )
        return f"<table>\n{lines}</table>\n"

    def pre(self) -> str:
        lines = [
            "    " * self.chance.randint(0, 2) + f"{self.word()}({self.word()}, {self.word()})"
            for _ in range(self.chance.randint(3, 9))
        ]
        self.code += [line.strip() for line in lines]
        self.text += [line.strip() for line in lines]
        return "<pre><code>" + "\n".join(lines) + "</code></pre>\n"

    def body(self, parts: int, *kinds: Callable[[], str]) -> str:
        found = [self.paragraph()]
        for _ in range(parts):
            if self.chance.random() < 0.25:
                found.append(self.heading(self.chance.choice((2, 2, 3))))
            if kinds and self.chance.random() < 0.25:
                found.append(self.chance.choice(kinds)())
            found.append(self.paragraph())
        return "".join(found)

    # --- what is around it -------------------------------------------------------------
    def menu(self, count: int) -> str:
        return "<ul>" + "".join(f"<li>{self.link()}</li>\n" for _ in range(count)) + "</ul>\n"

    def teasers(self, count: int) -> str:
        return "".join(
            f'<div class="card"><a href="/{self.word(_AROUND)}"><img src="/i.jpg" alt="">'
            f"<h3>{self.around(4, 9)}</h3></a><p>{self.around(8, 16)} …</p></div>\n"
            for _ in range(count)
        )

    def footer_text(self) -> str:
        return f"<p>© 2026 {self.around(6, 14)}. {self.link()} | {self.link()} | {self.link()}</p>"

    def scripts(self) -> str:
        noise = ";".join(f"var {self.word(_AROUND)}={n}" for n in range(120))
        return f"<script>{noise}</script>\n<style>.a{{b:c}}</style>\n" * 3

    def page(self, kind: str, head: str, body: str) -> MadePage:
        html = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">{head}{self.scripts()}'
            f"</head>\n<body>{body}</body></html>"
        )
        return MadePage(
            kind,
            html,
            "\n".join(self.text),
            tuple(self.headings),
            tuple(self.items),
            tuple(self.cells),
            tuple(self.code),
        )


def _news(make: _Maker) -> MadePage:
    title = make.heading(1)
    return make.page(
        "news",
        f"<title>{make.headings[0]} | {make.around(1, 2)}</title>",
        f'<header><nav class="main-nav">{make.menu(40)}</nav></header>\n'
        f'<main><article>{title}<div class="share-buttons">{make.menu(4)}</div>'
        f"{make.body(make.chance.randint(6, 24), make.list)}</article>\n"
        f'<aside class="related"><h2>{make.around(2, 3)}</h2>{make.teasers(8)}</aside></main>\n'
        f"<footer>{make.menu(30)}{make.footer_text()}</footer>",
    )


def _soup(make: _Maker) -> MadePage:
    title = make.heading(1)
    return make.page(
        "soup",
        f"<title>{make.headings[0]}</title>",
        f'<div id="wrap"><div id="top">{make.menu(25)}</div>\n<table><tr><td width="20%">'
        f'{make.menu(30)}</td><td><div class="x1">{title}'
        f"{make.body(make.chance.randint(6, 20), make.list)}</div></td></tr></table>\n"
        f'<div id="bottom">{make.footer_text()}{make.menu(12)}</div></div>',
    )


def _blog(make: _Maker) -> MadePage:
    title = make.heading(1)
    return make.page(
        "blog",
        f"<title>{make.headings[0]}</title>",
        f'<div class="cookie-banner"><p>{make.around(20, 40)}.</p>{make.link()}</div>'
        f'<div class="header">{make.menu(12)}</div><div class="content"><div class="post">{title}'
        f"{make.body(make.chance.randint(6, 16), make.list, make.pre)}</div>\n"
        f'<div class="related-posts">{make.teasers(4)}</div></div>\n'
        f'<div class="sidebar">{make.menu(25)}<p>{make.around(15, 25)}.</p></div>'
        f'<div class="footer">{make.footer_text()}</div>',
    )


def _docs(make: _Maker) -> MadePage:
    title = make.heading(1)
    return make.page(
        "docs",
        f"<title>{make.headings[0]}</title>",
        f'<div class="layout"><nav>{make.menu(80)}</nav><div role="main" class="document">{title}'
        f"{make.body(make.chance.randint(8, 30), make.list, make.table, make.pre)}</div>"
        f'<div class="toc">{make.menu(15)}</div></div><footer>{make.footer_text()}</footer>',
    )


def _shop(make: _Maker) -> MadePage:
    title = make.heading(1)
    return make.page(
        "shop",
        f"<title>{make.headings[0]}</title>",
        f'<div class="navigation">{make.menu(60)}</div><div class="breadcrumb">{make.menu(4)}'
        f'</div><section class="product">{title}{make.paragraph()}{make.table()}'
        f"{make.body(make.chance.randint(1, 4), make.list)}</section>\n"
        f'<section class="recommendations">{make.teasers(16)}</section>'
        f'<div class="footer-links">{make.menu(40)}{make.footer_text()}</div>',
    )


_KINDS = (_news, _soup, _blog, _docs, _shop)


def made_pages(count: int, seed: int = 1) -> list[MadePage]:
    """So many pages, kind after kind."""
    return [_KINDS[n % len(_KINDS)](_Maker(seed * 1_000_003 + n)) for n in range(count)]
