"""Pictures of statistics: sizes by rank, statuses by host, answers by code, degrees of links.

matplotlib, because it draws logarithmic axes and labels that do not collide, and writes SVG,
PNG and PDF; it is the extra `plot` and loaded only here.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from crawl.errors import EnvironmentFault, UsageError
from crawl.hints import install
from crawl.model.status import DB_STATUSES
from crawl.printable import printable
from crawl.storage.output_file import check_output_file, write_output_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from crawl.readers.webstats.name_counts import NameSummary

FORMATS = ("svg", "png", "pdf")

INK, MUTED, GRID = "#1f2933", "#6b7785", "#e4e8ec"
BLUE, ORANGE, TEAL = "#2f6fb0", "#d9822b", "#1b998b"
STATUS_COLOURS: Mapping[str, str] = {
    "db_fetched": "#1b998b",
    "db_notmodified": "#7fcdc0",
    "db_duplicate": "#c9a227",
    "db_redir_temp": "#8fb3d9",
    "db_redir_perm": "#2f6fb0",
    "db_gone": "#c8553d",
    "db_parse_failed": "#8d5a97",
    "db_orphan": "#a3917b",
    "db_unfetched": "#d5dae0",
}
"""In the order in which they are stacked: what was fetched first, what waits last."""
_BARS = 20
"""Names of which a picture shows the bars."""
_LABEL = 34
"""Characters of a name."""


def check_picture(address: str | None) -> None:
    """Raises UsageError for a file of no format that can be drawn, EnvironmentFault where there
    is nothing to draw with, and whatever keeps the file from being written: before time is
    spent on counting."""
    if address is None:
        return
    suffix = address.rpartition(".")[2].lower()
    if suffix not in FORMATS:
        raise UsageError(f"{address}: a picture is a file .{', .'.join(FORMATS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise EnvironmentFault(f"pictures need matplotlib: {install('plot')}") from None
    check_output_file(address)


def draw_names(address: str, kind: str, summary: NameSummary, title: str) -> None:
    """Pages by rank, and the URLs of the largest names by status."""
    labels = [status.label for status in DB_STATUSES]
    bars = [(name, dict(zip(labels, of, strict=True))) for name, of in summary.top[:_BARS]]
    with _picture(address, title, (11.5, max(4.2, 1.9 + 0.27 * len(bars)))) as figure:
        ranks, statuses = figure.subplots(1, 2, width_ratios=(1, 1.25))
        _draw_ranks(ranks, kind, summary.fetched_sizes)
        _draw_statuses(statuses, kind, bars)


def draw_codes(address: str, codes: Mapping[str, int], title: str) -> None:
    """URLs by the code of their last answer."""
    ordered = sorted(codes.items(), key=lambda each: -each[1])[:_BARS]
    with _picture(address, title, (8.5, max(2.6, 1.4 + 0.32 * len(ordered)))) as figure:
        axes = figure.subplots()
        names = [printable(name, _LABEL) for name, _ in ordered]
        values = [count for _, count in ordered]
        places = np.arange(len(names))[::-1]
        colours = [_code_colour(name) for name, _ in ordered]
        axes.barh(places, values, color=colours, height=0.68)
        _name_bars(axes, places, names)
        total = sum(codes.values()) or 1
        for place, value in zip(places, values, strict=True):
            label = f"  {value:,}  ·  {value / total:.1%}"
            axes.text(value, place, label, va="center", fontsize=8.5, color=MUTED)
        axes.set_xlim(0, max(values, default=1) * 1.24)
        axes.set_xlabel("URLs")
        _thousands(axes.xaxis)
        axes.grid(axis="x")


def draw_degrees(address: str, inlinks: Counter[int], outlinks: Counter[int], title: str) -> None:
    """How many URLs have how many links to them, and pages how many links."""
    with _picture(address, title, (11, 4.6)) as figure:
        panels = figure.subplots(1, 2)
        _draw_degrees(panels[0], inlinks, BLUE, "In-degree", "pages that link to a URL", "URLs")
        _draw_degrees(panels[1], outlinks, ORANGE, "Out-degree", "links of a page", "pages")


def _draw_ranks(axes: Axes, kind: str, sizes: Counter[int]) -> None:
    values = np.array(sorted(sizes, reverse=True), np.float64)
    counts = np.array([sizes[int(value)] for value in values], np.float64)
    lasts = np.cumsum(counts)
    firsts = lasts - counts + 1
    # a step for names of one size: from the first rank that has it to the last
    ranks = np.column_stack([firsts, lasts]).ravel()
    heights = np.repeat(values, 2)
    axes.plot(ranks, heights, color=BLUE, linewidth=2, solid_capstyle="round")
    if len(values):
        axes.fill_between(ranks, heights, 0.8, color=BLUE, alpha=0.1, linewidth=0)
        axes.scatter(firsts[:1], values[:1], s=26, color=BLUE, zorder=3, clip_on=False)
        axes.set_ylim(bottom=0.8)
    _log_scales(axes, "Sizes by rank", f"rank of the {kind}", "pages fetched")


def _draw_statuses(axes: Axes, kind: str, top: Sequence[tuple[str, Mapping[str, int]]]) -> None:
    places = np.arange(len(top))[::-1]
    begins = np.zeros(len(top))
    for status, colour in STATUS_COLOURS.items():
        widths = np.array([counts.get(status, 0) for _, counts in top], np.float64)
        if widths.any():
            label = status.removeprefix("db_").replace("_", " ")
            axes.barh(places, widths, left=begins, color=colour, height=0.72, label=label)
            begins += widths
    _name_bars(axes, places, [printable(name, _LABEL) for name, _ in top])
    axes.set_title(f"URLs of the largest {kind}s by status", pad=26 if len(top) else 6)
    axes.set_xlabel("URLs")
    axes.set_xlim(0, float(begins.max()) * 1.02 if len(top) and begins.any() else 1)
    _thousands(axes.xaxis)
    axes.grid(axis="x")
    if len(top):
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(-0.01, 1.0),
            ncols=5,
            frameon=False,
            fontsize=8.5,
            handlelength=0.9,
            handleheight=0.9,
            columnspacing=1.2,
            handletextpad=0.5,
            borderaxespad=0.1,
        )


def _draw_degrees(
    axes: Axes, degrees: Counter[int], colour: str, title: str, across: str, up: str
) -> None:
    values = np.array(sorted(degree for degree in degrees if degree > 0), np.float64)
    counts = np.array([degrees[int(degree)] for degree in values], np.float64)
    axes.scatter(values, counts, s=16, color=colour, alpha=0.35, linewidths=0)
    if len(values):
        middles, means = _binned(values, counts)
        axes.plot(middles, means, color=colour, linewidth=2, solid_capstyle="round")
        total, weight = counts.sum(), (values * counts).sum()
        note = f"mean {weight / total:,.1f}   ·   most {int(values[-1]):,}"
        if degrees.get(0):
            note += f"   ·   {degrees[0]:,} {up} with none"
        axes.set_title(note, loc="right", fontsize=9, color=MUTED)
    _log_scales(axes, title, across, up)


def _binned(
    degrees: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Means over degrees that grow by a factor: in the tail, where most degrees are nobody's, a
    count of one is far above the mean."""
    edges = np.unique(np.floor(1.5 ** np.arange(0, np.log(degrees[-1]) / np.log(1.5) + 2)))
    sums, _ = np.histogram(degrees, edges, weights=counts)
    widths = np.diff(edges)
    middles = np.sqrt(edges[:-1] * np.maximum(edges[1:] - 1, edges[:-1]))
    filled = sums > 0
    return middles[filled], (sums / widths)[filled]


def _code_colour(code: str) -> str:
    return {"2": TEAL, "3": BLUE, "4": ORANGE, "5": "#c8553d"}.get(code[:1], "#b6bec8")


def _name_bars(axes: Axes, places: np.ndarray[Any, Any], names: Sequence[str]) -> None:
    axes.set_yticks(places, names, fontsize=9)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
        label.set_color(INK)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.margins(y=0.02)


def _log_scales(axes: Axes, title: str, across: str, up: str) -> None:
    """Axes in decades, written out: 1, 10, 100, 1k …"""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axes.set(xscale="log", yscale="log", title=title, xlabel=across, ylabel=up)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(10, numticks=10))
        axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    axes.grid(which="major")


def _thousands(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def _short(value: float) -> str:
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e4)):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):,.4g}{unit}"
    return f"{value:,.4g}"


_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Inter", "Helvetica Neue", "Arial", "DejaVu Sans"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": "#b6bec8",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "figure.facecolor": "white",
    "svg.hashsalt": "nutria",
}


@contextmanager
def _picture(address: str, title: str, size: tuple[float, float]) -> Iterator[Figure]:
    """A figure that is written when the block ends; the same bytes for the same figures."""
    import logging

    from matplotlib import rc_context
    from matplotlib.figure import Figure

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    suffix = address.rpartition(".")[2].lower()
    with rc_context(cast("Any", _STYLE)):
        figure = Figure(figsize=size, layout="constrained", dpi=150)
        cast("Any", figure.get_layout_engine()).set(w_pad=0.12, h_pad=0.1)
        figure.suptitle(title, x=0.012, ha="left", fontsize=14, fontweight="bold", color=INK)
        yield figure
        written = io.BytesIO()
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(written, format=suffix, metadata=undated)
    write_output_file(address, written.getvalue())
