"""What a unit of each phase's work costs on this machine, for `crawl plan`; and what the
model makes of it, beside runs of other sizes. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import costs_crawldb
import costs_exchange
import costs_pages
from rich.console import Console
from rich.table import Table

from crawl.config.resources import packaged
from crawl.planning.costs import FILE, Costs, MeasuredCost, read_costs, read_measured, write_costs

WITHIN = 1.5
"""A prediction may be off by this factor, up or down."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A run, and what the model says of it."""

    phase: str
    size: str
    predicted_s: float
    measured_s: float

    @property
    def factor(self) -> float:
        return self.predicted_s / self.measured_s

    @property
    def holds(self) -> bool:
        return 1 / WITHIN <= self.factor <= WITHIN


def main() -> int:
    options = _options()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="nutria-costs-", dir=options.work) as folder:
        work = Path(folder)
        if options.check_only:
            text = _known(options)
        else:
            text = _measure(options, work, console)
            if options.out:
                Path(options.out).write_text(text)
            else:
                print(text)
        compared: list[Compared] = []
        if not options.no_check:
            for each in _check(options, work, read_costs(text, FILE)):
                compared.append(each)
                console.print(f"[dim]{each.phase} of {each.size}: × {each.factor:.2f}")
    if compared:
        console.print(_table(compared))
    if options.json:
        told = [asdict(each) | {"factor": each.factor} for each in compared]
        Path(options.json).write_text(json.dumps(told, indent=1))
    return 0 if all(each.holds for each in compared) else 1


def _measure(options: argparse.Namespace, work: Path, console: Console) -> str:
    found: dict[str, MeasuredCost] = {}
    if options.only:
        # what is not measured now stays as it is
        found |= read_measured(_known(options), options.out or FILE)
    if options.only != "crawldb":
        console.print("[dim]fetch and parse…")
        found |= costs_pages.costs(work, options.pages, options.rounds)
        found["disk_content_kilobyte"] = MeasuredCost(
            options.content,
            "given: pages of the real web, 84 kB on average, take 0.19 of their size;"
            " those of the synthetic web repeat themselves and would take less",
        )
    if options.only != "pages":
        console.print("[dim]inject, generate and updatedb…")
        found |= costs_crawldb.costs(work, options.urls, options.rounds)
        console.print("[dim]what Spark adds to an exchange…")
        found |= costs_exchange.costs(5 * options.urls, options.rounds)
    heading = (
        "What a unit of each phase's work costs; `crawl plan` reckons with it.\n"
        f"Written by scripts/bench/run costs: {_machine()}, Python"
        f" {platform.python_version()}; processor time, best of {options.rounds}."
    )
    return write_costs(found, heading)


def _check(options: argparse.Namespace, work: Path, costs: Costs) -> Iterator[Compared]:
    """Runs of sizes and of pages that the figures are not from."""
    for pages in options.check_pages if options.only != "crawldb" else ():
        run = costs_pages.measure(work, pages, 50_000, 30, 1)
        for phase in ("fetch", "parse"):
            foretold = run.predicted_s(phase, costs)
            yield Compared(phase, f"{pages:,} pages", foretold, run.cpu_s[phase])
    for urls in options.check_urls if options.only != "pages" else ():
        phases = {"inject": 0, "generate": urls // 20, "updatedb": 0}
        found = costs_crawldb.measure(work, costs_crawldb.shape_of(urls), phases, 1)
        for name, each in found.items():
            yield Compared(name, f"{urls:,} URLs", each.predicted(costs).cpu_s, each.cpu_s)


def _table(compared: list[Compared]) -> Table:
    table = Table(title=f"the model beside runs here; within a factor of {WITHIN}")
    for name in ("phase", "size", "predicted CPU s", "measured CPU s", "factor", ""):
        table.add_column(name, justify="left" if name in ("phase", "size") else "right")
    for each in compared:
        table.add_row(
            each.phase,
            each.size,
            f"{each.predicted_s:.2f}",
            f"{each.measured_s:.2f}",
            f"{each.factor:.2f}",
            "yes" if each.holds else "NO",
        )
    return table


def _known(options: argparse.Namespace) -> str:
    """The file as it is, or the shipped one."""
    if options.out and Path(options.out).exists():
        return Path(options.out).read_text()
    return (packaged() / FILE).read_text()


def _machine() -> str:
    """The processor, as far as the system tells."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    name = next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")
    return f"{os.cpu_count()} cores of {name or platform.machine()}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("bench/run costs", description=__doc__)

    def sizes(text: str) -> list[int]:
        return [int(part) for part in text.split(",") if part]

    parser.add_argument("--out", help="the file to write (default: to the terminal)")
    parser.add_argument(
        "--only", choices=("pages", "crawldb"), help="leave the other figures as they are"
    )
    parser.add_argument("--urls", type=int, default=400_000, help="of the CrawlDb measured")
    parser.add_argument("--pages", type=int, default=1_000, help="of each web measured")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    parser.add_argument(
        "--content", type=float, default=190.0, help="bytes on disk of a kilobyte of pages"
    )
    parser.add_argument("--check-urls", type=sizes, default=[1_000_000, 4_000_000])
    parser.add_argument("--check-pages", type=sizes, default=[2_000, 8_000])
    parser.add_argument("--no-check", action="store_true", help="only measure")
    parser.add_argument(
        "--check-only", action="store_true", help="only check --out, or the shipped file"
    )
    parser.add_argument("--work", help="folder for the data (default: a temporary one)")
    parser.add_argument("--json", help="a file for the comparison")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
