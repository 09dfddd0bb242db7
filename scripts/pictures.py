"""Draws the pictures of README and docs as SVG: the pipeline, and the house of packages.

The house is read from the import contract in setup.cfg, so it shows the floors that the gate
enforces. Each picture has a background of its own and is legible on light and on dark pages.

    ./scripts/docs pictures
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pages" / "pictures"

FONT = "font-family=\"'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif\""
PAPER, LINE, INK, SOFT = "#fbfaf7", "#d8d4ca", "#20302e", "#5c6b68"
TEAL, TEAL_LINE = "#d9efeb", "#2a8c7f"
SAND, SAND_LINE = "#f6e7c8", "#b98a2f"
BLUE, BLUE_LINE = "#dde8f6", "#4a74ad"
STONE, STONE_LINE = "#ebebe6", "#8d8f88"
ROSE, ROSE_LINE = "#f7dedb", "#b65a50"

_CHARACTER = 0.56
"""Width of an average character, as a share of the font's size."""
_NARROW = 0.9
"""Share of a box that its text may take."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with lines of text in its middle, the first of them bold."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    fill: str
    stroke: str
    size: float = 15.0

    def svg(self) -> str:
        shape = (
            f'<rect x="{self.x:g}" y="{self.y:g}" width="{self.width:g}" height="{self.height:g}"'
            f' rx="9" fill="{self.fill}" stroke="{self.stroke}" stroke-width="1.5"/>'
        )
        step = self.size * 1.25
        top = self.y + self.height / 2 - step * (len(self.lines) - 1) / 2 + self.size * 0.35
        texts = [
            text(
                self.x + self.width / 2,
                top + step * number,
                line,
                size=self.size if number == 0 else self.size - 3,
                bold=number == 0,
                room=self.width,
            )
            for number, line in enumerate(self.lines)
        ]
        return "\n".join([shape, *texts])


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = 12.0,
    bold: bool = False,
    color: str = INK,
    anchor: str = "middle",
    room: float | None = None,
) -> str:
    """A line of text; ValueError where it is wider than the room it has."""
    width = len(content) * size * _CHARACTER
    if room is not None and width > room * _NARROW:
        raise ValueError(f"{content!r} is too long for a box of {room:g}")
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}"'
        f' fill="{color}"{weight}>{escape(content)}</text>'
    )


def arrow(points: Iterable[tuple[float, float]], *, both: bool = False) -> str:
    """A line through these points with a head at its end."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    start = ' marker-start="url(#head)"' if both else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="{SOFT}" stroke-width="2"'
        f' stroke-linejoin="round" marker-end="url(#head)"{start}/>'
    )


def picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """The whole file."""
    head = (
        '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8"'
        f' orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z" fill="{SOFT}"/></marker>'
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img" {FONT}>',
            f"<title>{escape(title)}</title>",
            f"<defs>{head}</defs>",
            f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="14" fill="{PAPER}"'
            f' stroke="{LINE}" stroke-width="1.5"/>',
            *parts,
            "</svg>\n",
        ]
    )


def pipeline() -> str:
    """Seeds, the CrawlDb, the four phases of a round, and the segment that they write."""
    seeds = Box(40, 40, 190, 56, ("seeds", "a URL per line"), SAND, SAND_LINE)
    crawldb = Box(
        40,
        166,
        190,
        112,
        ("CrawlDb", "every known URL:", "status, due time, score", "(Parquet snapshots)"),
        BLUE,
        BLUE_LINE,
    )
    web = Box(470, 40, 150, 56, ("the web", "robots.txt, pages"), SAND, SAND_LINE)
    abouts = {
        "generate": "select due URLs",
        "fetch": "politely",
        "parse": "text and links",
        "updatedb": "close the round",
    }
    phases = [
        Box(280 + 190 * number, 194, 150, 56, (name, about), TEAL, TEAL_LINE)
        for number, (name, about) in enumerate(abouts.items())
    ]
    written = (
        ("crawl_generate",),
        ("crawl_fetch", "content"),
        ("parse_data", "parse_text", "crawl_parse"),
    )
    stores = [
        Box(280 + 190 * number, 308, 150, 70, names, "#ffffff", BLUE_LINE, size=13)
        for number, names in enumerate(written)
    ]
    segment = (
        f'<rect x="262" y="290" width="566" height="122" rx="12" fill="{BLUE}"'
        f' stroke="{BLUE_LINE}" stroke-width="1.5"/>'
    )
    middle = 222
    parts = [
        segment,
        text(
            545,
            400,
            "segment 20261115093000: what one round fetched (Parquet)",
            size=13,
            color=SOFT,
        ),
        *(box.svg() for box in (seeds, crawldb, web, *phases)),
        *(_plain(box) for box in stores),
        arrow([(135, 96), (135, 164)]),
        text(146, 135, "inject", size=15, bold=True, anchor="start"),
        arrow([(230, middle), (278, middle)]),
        *(arrow([(430 + 190 * n, middle), (468 + 190 * n, middle)]) for n in range(3)),
        arrow([(545, 98), (545, 192)], both=True),
        *(arrow([(355 + 190 * n, 250), (355 + 190 * n, 306)]) for n in range(3)),
        arrow([(828, 350), (925, 350), (925, 252)]),
        arrow([(960, 250), (960, 436), (135, 436), (135, 280)]),
        text(545, 454, "next round", size=13, color=SOFT),
    ]
    return picture(1040, 472, "inject, then rounds of generate, fetch, parse and updatedb", parts)


def _plain(box: Box) -> str:
    """A box whose lines are all names of the same rank."""
    step = box.size * 1.5
    top = box.y + box.height / 2 - step * (len(box.lines) - 1) / 2 + box.size * 0.35
    shape = Box(box.x, box.y, box.width, box.height, (), box.fill, box.stroke).svg()
    middle = box.x + box.width / 2
    lines = [
        text(middle, top + step * number, line, size=box.size, room=box.width)
        for number, line in enumerate(box.lines)
    ]
    return "\n".join([shape, *lines])


CAPTIONS = {
    "jobs": "scripts for spark-submit, one per command",
    "cli": "the command line: options in, a table or JSON out",
    "api": "what “import crawl” offers",
    "datasets": "tables as Arrow, pandas, polars",
    "readers": "what a crawl knows, ready for JSON",
    "declared": "the properties of all rooms",
    "rounds": "a round as steps, and the loop over rounds",
    "phases": "a folder each: inject, generate, fetch, parse, updatedb …",
    "driver": "what the drivers of several phases share",
    "spark": "the only room that knows Spark",
    "plugins": "the built-in plugins",
    "testing": "contract tests for plugins",
    "synthetic": "webs to test against",
    "search": "the full-text index that needs no server",
    "tables": "the machinery of tables in buckets, with Arrow",
    "planning": "capacity: nodes, hours, storage, cost",
    "fetcher": "polite queues, threads and output of a fetch",
    "parsing": "from bytes to text, data and links, in a separate process",
    "storage": "folders, snapshots, segments, locks, check and repair",
    "rules": "pure decisions that several phases share",
    "robots": "robots.txt by RFC 9309",
    "net": "DNS and address rules",
    "urls": "URLs, hosts, domains, partition keys",
    "interfaces": "what plugins implement",
    "maincontent": "a page without menus, as text or Markdown",
    "html": "HTML as tokens and as a tree",
    "telemetry": "metrics, traces, logs",
    "conf": "the default rule files",
    "config": "typed properties, layers, rule files",
    "model": "statuses, records, tables, reports",
}
"""What a room is for. One that is not named here shows the first line of its docstring."""

_COLORS = (
    (("jobs", "cli", "api"), SAND, SAND_LINE),
    (("datasets", "readers", "declared", "rounds", "phases", "driver"), TEAL, TEAL_LINE),
    (("spark",), ROSE, ROSE_LINE),
    (("plugins", "testing", "synthetic"), STONE, STONE_LINE),
    (("search", "tables", "planning", "fetcher", "parsing", "storage"), BLUE, BLUE_LINE),
)


def floors() -> list[list[str]]:
    """The rooms of each floor, highest first: jobs/, then the layers of the import contract."""
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    found = [["jobs"]]
    for line in parser["importlinter:contract:floors"]["layers"].split("\n"):
        rooms = [room.strip(" ()") for room in line.split("|")]
        named = [room for room in rooms if room and not room.startswith("__")]
        if named:
            found.append(named)
    return found


def house() -> str:
    """The packages as floors."""
    left, width, height, gap = 40, 880, 34, 5
    parts: list[str] = []
    y = 62.0
    parts.append(text(left, 38, "Imports only point down.", size=16, bold=True, anchor="start"))
    for rooms in floors():
        parts.extend(_floor(rooms, left, y, width, height))
        y += height + gap
    edge = left + width + 24
    parts.append(arrow([(edge, 62), (edge, y - gap)]))
    return picture(left + width + 48, int(y) + 20, "the packages of crawl/ as floors", parts)


def _floor(rooms: list[str], left: float, y: float, width: float, height: float) -> Iterator[str]:
    if len(rooms) > 3:  # single files, which many rooms share
        rooms = [", ".join(rooms)]
    gap = 8.0
    share = (width - gap * (len(rooms) - 1)) / len(rooms)
    for number, room in enumerate(rooms):
        x = left + number * (share + gap)
        fill, stroke = _color(room)
        yield Box(x, y, share, height, (), fill, stroke).svg()
        middle = y + height / 2 + 5
        yield text(x + 14, middle, room, size=15, bold=True, anchor="start", room=share)
        # captions of a floor with one room begin in one column
        start = 150.0 if len(rooms) == 1 else 26 + len(room) * 15 * 0.6
        if "," not in room:
            caption = _caption(room, share - start)
            yield text(x + start, middle, caption, size=13, color=SOFT, anchor="start")


def _color(room: str) -> tuple[str, str]:
    for rooms, fill, stroke in _COLORS:
        if room in rooms:
            return fill, stroke
    return "#ffffff", STONE_LINE


def _caption(room: str, space: float) -> str:
    most = int(space / (13 * _CHARACTER))
    found = CAPTIONS.get(room) or _first_line(room)
    return found if len(found) <= most else found[: most - 1].rstrip(" ,") + "…"


def _first_line(room: str) -> str:
    places = (ROOT / "crawl" / room / "__init__.py", ROOT / "crawl" / f"{room}.py")
    source = next(place for place in places if place.exists())
    document = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return document.splitlines()[0].rstrip(".") if document else ""


PICTURES = {"pipeline": pipeline, "house": house}


def main() -> None:
    """Writes the files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, drawn in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
