"""The fetcher flat out, beside Scrapy, a bare pycurl loop and wrk on the same web in the
same run; and polite, beside the time that politeness takes. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import fetch_contestants as contestants
from fetch_contestants import Contestant, Measured
from fetch_list import Listed, listed
from fetch_polite import Seen, ideal_s, predicted_s, seen
from rich.console import Console
from rich.table import Table

from crawl.synthetic.web import Settings

PLUGINS = ("http", "http-requests")
FASTER_THAN_SCRAPY = {"http": 10.0, "http-requests": 3.0}
CPU_OF_BARE = 3.0
SHARE_OF_IDEAL = 0.97
PREDICTION_WITHIN = 0.05


@dataclass(slots=True)
class Line:
    """One contestant's runs."""

    name: str
    runs: list[Measured] = field(default_factory=list)

    @property
    def pages_per_s(self) -> float:
        return median(run.pages_per_s for run in self.runs)

    @property
    def cpu_ms(self) -> float:
        return median(run.cpu_ms for run in self.runs)

    @property
    def peak_mib(self) -> float:
        return max(float(run.told.get("peak_mib", 0.0)) for run in self.runs)

    def faster_than(self, other: Line) -> float:
        """By pages in a second."""
        return self._times(other, lambda run: run.pages_per_s)

    def dearer_than(self, other: Line) -> float:
        """By processor time."""
        return self._times(other, lambda run: run.cpu_ms)

    def _times(self, other: Line, figure: Callable[[Measured], float]) -> float:
        """Round by round, for what slows a round slows both; the best of each are from moments
        that have nothing to do with each other."""
        pairs = zip(self.runs, other.runs, strict=True)
        return median(figure(ours) / figure(theirs) for ours, theirs in pairs)


@dataclass(frozen=True, slots=True)
class Goal:
    """What was to be shown, and what was."""

    text: str
    reached: float
    wanted: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        return self.reached <= self.wanted if self.at_most else self.reached >= self.wanted


def main() -> int:
    options = _options()
    console = Console()
    work = Path(options.work or tempfile.mkdtemp(prefix="bench-fetch-"))
    told: dict[str, Any] = {"options": vars(options)}
    goals: list[Goal] = []
    try:
        if "flat" in options.runs:
            lines = flat_out(options, work / "flat", console)
            goals += _flat_goals(lines)
            told["flat"] = {line.name: [asdict(run) for run in line.runs] for line in lines}
        if "polite" in options.runs:
            told["polite"], found = polite(options, work / "polite", console)
            goals += found
    finally:
        if not options.work:
            shutil.rmtree(work, ignore_errors=True)
    show_goals(goals, console)
    told["goals"] = [asdict(goal) | {"met": goal.met} for goal in goals]
    if options.json:
        Path(options.json).write_text(json.dumps(told, indent=1))
    return 0 if all(goal.met for goal in goals) else 1


def flat_out(options: argparse.Namespace, work: Path, console: Console) -> list[Line]:
    """No pause at all: what a page costs."""
    settings = Settings.plain(options.hosts, options.pages, port=0)
    with listed(settings, work) as web:
        entered = _entered(options, web, console)
        lines = [Line(each.name) for each in entered]
        for _ in range(options.rounds):
            # taking turns, so that what disturbs a while disturbs all
            for line, each in zip(lines, entered, strict=True):
                line.runs.append(_checked(each, options.pages))
    _show_flat(lines, options, console)
    return lines


def _entered(options: argparse.Namespace, web: Listed, console: Console) -> list[Contestant]:
    flat = {"fetcher.server.delay": 0.0, **options.settings}
    entered = [contestants.curl(web, options.threads)]
    entered += [contestants.ours(web, name, options.threads, **flat) for name in options.plugins]
    if options.scrapy and contestants.has_scrapy():
        entered.append(contestants.scrapy(web, 32, 8))
    else:
        console.print("Scrapy is left out: it is not wanted or cannot be installed")
    if contestants.has_wrk():
        entered.append(contestants.wrk(web, options.threads))
    else:
        console.print("wrk is left out: it is not installed (apt-get install wrk)")
    return entered


def _checked(contestant: Contestant, pages: int) -> Measured:
    run = contestant.run()
    if not contestant.name.startswith("wrk") and run.pages != pages:
        raise SystemExit(f"bench: {contestant.name} got {run.pages} of {pages} pages")
    return run


def _show_flat(lines: list[Line], options: argparse.Namespace, console: Console) -> None:
    by_name = {line.name: line for line in lines}
    bare = by_name["bare pycurl"]
    rival = next((line for line in lines if line.name.startswith("Scrapy")), None)
    table = Table(
        title=f"flat out: {options.pages:,} pages of ~30 kB on {options.hosts} hosts,"
        f" median of {options.rounds} rounds",
    )
    table.add_column("")
    for column in ("pages/s", "× Scrapy", "CPU ms/page", "× bare pycurl", "peak MiB"):
        table.add_column(column, justify="right")
    for line in lines:
        times = f"{line.faster_than(rival):.1f}" if rival else ""
        table.add_row(
            line.name,
            f"{line.pages_per_s:,.0f}",
            times,
            f"{line.cpu_ms:.3f}",
            f"{line.dearer_than(bare):.2f}",
            f"{line.peak_mib:.0f}" if line.peak_mib else "",
        )
    console.print(table)


def _flat_goals(lines: list[Line]) -> list[Goal]:
    by_name = {line.name: line for line in lines}
    rival = next((line for line in lines if line.name.startswith("Scrapy")), None)
    goals = []
    for plugin in PLUGINS:
        if rival is not None and plugin in by_name:
            times = by_name[plugin].faster_than(rival)
            goals.append(Goal(f"{plugin}: pages/s × Scrapy's", times, FASTER_THAN_SCRAPY[plugin]))
    if "http" in by_name:
        times = by_name["http"].dearer_than(by_name["bare pycurl"])
        text = "http: CPU a page × the bare loop's"
        goals.append(Goal(text, times, CPU_OF_BARE, at_most=True))
    return goals


def polite(
    options: argparse.Namespace, work: Path, console: Console
) -> tuple[dict[str, Any], list[Goal]]:
    """One request at a time to each host, and a pause after it."""
    hosts, each, delay = options.polite_hosts, options.polite_pages, options.delay
    settings = Settings.plain(hosts, hosts * each, port=0, latency=options.latency)
    with listed(settings, work) as web:
        paced = {"fetcher.server.delay": delay, **options.settings}
        run = _checked(contestants.ours(web, "http", options.threads, **paced), hosts * each)
        found = seen(web.server.requests(), web)
        ideal = ideal_s(web, delay)
        foretold = predicted_s(web, delay, options.threads, found.latency_s)
        goals = _polite_goals(found, ideal, foretold, delay)
        told = {"run": asdict(run), "seen": asdict(found), "ideal_s": ideal, "foretold_s": foretold}
        _show_polite(options, console, found, ideal, foretold)
        if options.scrapy and contestants.has_scrapy():
            told["scrapy_smallest_gap_s"] = _scrapy_gap(options, web, console)
    return told, goals


def _scrapy_gap(options: argparse.Namespace, web: Listed, console: Console) -> float:
    before = len(web.server.requests())
    contestants.scrapy(web, 2 * options.threads, 1, options.delay).run()
    gap = seen(web.server.requests()[before:], web).smallest_gap_s
    console.print(f"Scrapy, DOWNLOAD_DELAY {options.delay} s: smallest gap {gap:.3f} s")
    return gap


def _polite_goals(found: Seen, ideal: float, foretold: float, delay: float) -> list[Goal]:
    off = abs(foretold - found.makespan_s) / found.makespan_s
    return [
        Goal("polite: share of the ideal makespan", ideal / found.makespan_s, SHARE_OF_IDEAL),
        Goal("polite: smallest gap at the server, s", found.smallest_gap_s, delay),
        Goal("polite: requests to a host at once", found.most_at_once, 1, at_most=True),
        Goal("polite: requests against the rules", found.against_rules, 0, at_most=True),
        Goal("polite: prediction off by", off, PREDICTION_WITHIN, at_most=True),
    ]


def _show_polite(
    options: argparse.Namespace, console: Console, found: Seen, ideal: float, foretold: float
) -> None:
    table = Table(
        title=f"polite: {options.polite_pages} pages on each of {options.polite_hosts} hosts,"
        f" {options.delay} s apart",
    )
    for column in ("ideal s", "measured s", "predicted s", "smallest gap s"):
        table.add_column(column, justify="right")
    table.add_row(
        f"{ideal:.2f}",
        f"{found.makespan_s:.2f}",
        f"{foretold:.2f}",
        f"{found.smallest_gap_s:.4f}",
    )
    console.print(table)


def show_goals(goals: list[Goal], console: Console) -> None:
    table = Table(title="goals")
    table.add_column("")
    for column in ("reached", "wanted", ""):
        table.add_column(column, justify="right")
    for goal in goals:
        sign = "≤" if goal.at_most else "≥"
        met = "yes" if goal.met else "NO"
        table.add_row(goal.text, f"{goal.reached:.3g}", f"{sign} {goal.wanted:g}", met)
    console.print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=_words, default=["flat", "polite"])
    parser.add_argument("--plugins", type=_words, default=list(PLUGINS))
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-scrapy", dest="scrapy", action="store_false")
    parser.add_argument("--polite-hosts", type=int, default=40)
    parser.add_argument("--polite-pages", type=int, default=30)
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("-D", dest="settings", type=_setting, action="append", default=[])
    parser.add_argument("--work", help="a folder to keep the files in")
    parser.add_argument("--json", help="a file for every run's figures")
    options = parser.parse_args()
    options.settings = dict(options.settings)
    return options


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


if __name__ == "__main__":
    sys.exit(main())
