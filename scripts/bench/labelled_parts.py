"""Sentences, menus, teasers and notices that the labelled pages of `bench export` are built of."""

from __future__ import annotations

import random

_WHO = (
    *(
        "The harbour office",
        "A neighbour",
        "Our team",
        "The museum",
        "My grandmother",
        "The council",
    ),
    *("A small company", "The engineer", "Every visitor", "The new release", "A local farmer"),
    *("The second edition", "One reader", "The orchestra", "A careful gardener", "The committee"),
)
_DOES = (
    *("repaired", "described", "measured", "forgot about", "planned", "painted", "reviewed"),
    *("compared", "moved", "collected", "questioned", "rebuilt", "tested", "explained", "sold"),
)
_WHAT = (
    *("the old bridge", "three wooden boats", "a table of results", "the northern railway line"),
    *("the recipe for rye bread", "an index of letters", "the garden behind the school"),
    *("a parser for dates", "the winter timetable", "a box of photographs", "the water pump"),
    *("two chapters of the book", "the price of copper", "a lamp with a green shade"),
)
_WHEN = (
    *("before the first snow fell", "in less than two weeks", "without asking anyone", "last year"),
    *("because the weather had changed", "while the rest of the town slept", "for the third time"),
    *("so that nobody would have to wait", "although it cost more than expected", "on a Sunday"),
    *("after the report had been published", "with some help from volunteers", "at noon"),
)
_LABELS = (
    *("Home", "News", "Sport", "Weather", "About us", "Contact", "Archive", "Jobs", "Imprint"),
    *("Subscribe", "Newsletter", "Events", "Photos", "Shop", "Help", "Accessibility", "Search"),
    *("Opinion", "Culture", "Travel", "Science", "Sign in", "Terms of use", "Privacy", "Sitemap"),
)


class Parts:
    """Makes the parts of one page. What belongs to its main content is noted in `gold`."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.gold: list[str] = []

    # --- words -------------------------------------------------------------------------
    def sentence(self) -> str:
        pick = self.chance.choice
        words = f"{pick(_WHO)} {pick(_DOES)} {pick(_WHAT)} {pick(_WHEN)}"
        if self.chance.random() < 0.4:
            words += f", and {pick(_WHO).lower()} {pick(_DOES)} {pick(_WHAT)}"
        return words + "."

    def sentences(self, least: int, most: int) -> str:
        return " ".join(self.sentence() for _ in range(self.chance.randint(least, most)))

    def phrase(self) -> str:
        return f"{self.chance.choice(_WHAT).capitalize()} {self.chance.choice(_WHEN)}"

    def want(self, text: str) -> str:
        """Notes a text as main content."""
        self.gold.append(text)
        return text

    # --- main content ------------------------------------------------------------------
    def title(self, tag: str = "h1") -> str:
        return f"<{tag}>{self.want(self.phrase())}</{tag}>\n"

    def paragraphs(self, least: int, most: int) -> str:
        count = self.chance.randint(least, most)
        return "".join(f"<p>{self.want(self.sentences(2, 5))}</p>\n" for _ in range(count))

    def line(self) -> str:
        """A line of a poem."""
        pick = self.chance.choice
        return self.want(f"{pick(_WHO)} {pick(_DOES)} {pick(_WHAT)}".lower())

    def table(self, rows: int, columns: int) -> str:
        head = "".join(f"<th>{self.want(self.chance.choice(_LABELS))}</th>" for _ in range(columns))
        body = "".join(
            "<tr>"
            + "".join(
                f"<td>{self.want(self.chance.choice((*_WHAT, *map(str, range(40)))))}</td>"
                for _ in range(columns)
            )
            + "</tr>\n"
            for _ in range(rows)
        )
        return f"<table>\n<tr>{head}</tr>\n{body}</table>\n"

    def code(self) -> str:
        names = ("parse", "queue", "total", "row", "path", "count", "index", "result", "offset")
        pick = self.chance.choice
        lines = [
            "    " * self.chance.randint(0, 2) + f"{pick(names)} = {pick(names)}({pick(names)})"
            for _ in range(self.chance.randint(4, 9))
        ]
        self.gold.extend(line.strip() for line in lines)
        return "<pre><code>" + "\n".join(lines) + "</code></pre>\n"

    # --- around it ---------------------------------------------------------------------
    def menu(self, count: int) -> str:
        labels = (self.chance.choice(_LABELS) for _ in range(count))
        return (
            "<ul>" + "".join(f'<li><a href="/x">{label}</a></li>' for label in labels) + "</ul>\n"
        )

    def links(self, count: int) -> str:
        return " | ".join(f'<a href="/y">{self.chance.choice(_LABELS)}</a>' for _ in range(count))

    def teasers(self, count: int, name: str) -> str:
        return "".join(
            f'<div class="{name}"><a href="/t"><img src="t.jpg" alt=""><h3>{self.phrase()}</h3></a>'
            f"<p>{self.sentence()}</p></div>\n"
            for _ in range(count)
        )

    def cookies(self) -> str:
        return (
            "<p>We and our 842 partners store and access information on your device, such as"
            " cookies, to show you personal advertisements, to measure them and to learn about our"
            " visitors. You can change your choices at any time by clicking on settings. Some"
            " partners process your data without asking for your consent, on the basis of their"
            " legitimate interest.</p><button>Accept all</button><button>Reject</button>"
        )

    def footer(self) -> str:
        return (
            f"<p>© 2026 The Daily Example. All rights reserved. {self.links(6)}</p>"
            "<p>Reproduction of any part of this site needs our written permission.</p>"
        )

    def page(self, head: str, body: str) -> str:
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{head}</title>'
            "<script>var a = {b: 'c'};</script><style>.a { color: red }</style></head>\n"
            f"<body>{body}</body></html>"
        )
