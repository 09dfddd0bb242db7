"""One host with nearly a third of all URLs, beside as many URLs spread over all hosts: what a giant
costs in time and memory. Our side alone, the two CrawlDbs taking turns in one run."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import crawldb_data
from crawldb_ours import Ours, Workload
from crawldb_shape import Shape
from process_tree import Measured, Process, as_figures
from rich.console import Console
from rich.table import Table

from crawl.config.properties import CRAWLDB_FILE_ROWS
from crawl.storage.crawl_dir import CrawlDir

STEPS = ("updatedb", "generate", "generate --no-filter")
GIANT = 0.30
MOST = 1.3
"""How much longer a step may take where there is a giant."""


@dataclass(slots=True)
class Line:
    """One step on both CrawlDbs."""

    step: str
    even: list[Measured] = field(default_factory=list)
    giant: list[Measured] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return min(run.seconds for run in self.giant) / min(run.seconds for run in self.even)


def compare_with_even(
    options: argparse.Namespace, shape: Shape, console: Console, memory_limit_mib: int
) -> list[str]:
    """Measures the steps on both, prints a table, and says what is wrong."""
    with tempfile.TemporaryDirectory(prefix="nutria-bench-") as scratch:
        work = Path(options.work or scratch)
        shapes = {"even": replace(shape, giant=0.0), "giant": replace(shape, giant=GIANT)}
        made = {}
        for name, each in shapes.items():
            console.print(f"[dim]making the {name} CrawlDb of {each.urls:,} URLs…")
            made[name] = crawldb_data.make(work / f"{each.urls}-{name}", each, options.cores)
        workloads = {
            name: Workload(
                made=each,
                top_n=options.top_n or shape.urls // 20,
                max_count=options.max_count,
                parts=2,
                cores=options.cores,
                lookups=options.lookups,
                overrides=tuple(options.overrides),
            )
            for name, each in made.items()
        }
        lines = _measure(options, workloads, console)
        console.print(_table(shape, lines, made["giant"], options))
        if not options.keep:
            for each in made.values():
                shutil.rmtree(each.folder, ignore_errors=True)
    if options.json:
        Path(options.json).write_text(json.dumps(_as_dict(shape, lines), indent=1) + "\n")
    faults = [
        f"{line.step} takes {line.ratio:.2f} times as long with a giant, at most {MOST} is allowed"
        for line in lines
        if line.ratio > MOST
    ]
    peaks = [(line.step, max(run.peak_mib for run in line.giant)) for line in lines]
    faults += [
        f"{step} takes {peak:,.0f} MiB of memory with a giant, above {memory_limit_mib:,}"
        for step, peak in peaks
        if peak > memory_limit_mib
    ]
    return faults


def _measure(
    options: argparse.Namespace, workloads: dict[str, Workload], console: Console
) -> list[Line]:
    lines = [Line(step) for step in STEPS if step in options.steps]
    with (
        Process(partial(Ours, workloads["even"])) as even,
        Process(partial(Ours, workloads["giant"])) as giant,
    ):
        for number in range(options.rounds):
            for line in lines:
                for name, side, runs in (
                    ("even", even, line.even),
                    ("giant", giant, line.giant),
                ):
                    side.prepare(line.step)
                    runs.append(side.run(line.step))
                    console.print(
                        f"[dim]round {number + 1}: {name}: {line.step}: {runs[-1].seconds:.2f} s"
                    )
    return lines


def _table(
    shape: Shape, lines: list[Line], made: crawldb_data.Made, options: argparse.Namespace
) -> Table:
    snapshot = CrawlDir(made.crawl).require_crawldb()
    table = Table(
        title=f"{shape.urls:,} URLs, {GIANT:.0%} on one host, best of {options.rounds}",
        caption=f"the giant's CrawlDb has {len(snapshot.files):,} files in {snapshot.buckets:,}"
        f" buckets, of at most {shape.file_rows:,} rows",
    )
    for name in ("step", "even", "giant", "ratio", "CPU, even", "CPU, giant", "MiB, even", "giant"):
        table.add_column(name, justify="left" if name == "step" else "right")
    for line in lines:
        table.add_row(
            line.step,
            *(f"{min(run.seconds for run in runs):.2f} s" for runs in (line.even, line.giant)),
            f"{line.ratio:.2f}",
            *(f"{min(run.cpu_s for run in runs):.1f} s" for runs in (line.even, line.giant)),
            *(f"{max(run.peak_mib for run in runs):,.0f}" for runs in (line.even, line.giant)),
        )
    return table


def _as_dict(shape: Shape, lines: list[Line]) -> dict[str, object]:
    return {
        "urls": shape.urls,
        "giant": GIANT,
        "steps": [
            {
                "step": line.step,
                "ratio": round(line.ratio, 3),
                "even": [as_figures(run) for run in line.even],
                "giant": [as_figures(run) for run in line.giant],
            }
            for line in lines
        ],
    }


def file_rows_of(overrides: list[str]) -> int:
    """What `-D` says of the rows of a file, or the default."""
    given = dict(each.split("=", 1) for each in overrides)
    if CRAWLDB_FILE_ROWS.name in given:
        return CRAWLDB_FILE_ROWS.parse_text(given[CRAWLDB_FILE_ROWS.name], "-D")
    default = CRAWLDB_FILE_ROWS.default
    assert isinstance(default, int)
    return default
