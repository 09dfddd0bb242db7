"""inject, updatedb, generate and readdb on a made CrawlDb, beside DuckDB doing the same work on the
same files in the same run. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import crawldb_data
import crawldb_shape
from crawldb_beside import compare_with_commit
from crawldb_duckdb import SORTED, UNSORTED, DuckDB
from crawldb_giant import GIANT, compare_with_even, file_rows_of
from crawldb_ours import Ours, Workload
from process_tree import Measured, Process, as_figures
from rich.console import Console
from rich.table import Table

STEPS: dict[str, tuple[str, ...]] = {
    "inject": (f"inject {SORTED}", f"inject {UNSORTED}"),
    "updatedb": (f"updatedb {SORTED}", f"updatedb {UNSORTED}"),
    "generate": ("generate",),
    "generate --no-filter": ("generate --no-filter",),
    "readdb --stats": ("readdb --stats",),
    "readdb --url": ("readdb --url",),
}
"""Our steps, each with DuckDB's to compare it with."""

MEMORY_LIMIT_MIB = 6 * 1024
NOISE = 1e-6
"""Relative difference of sums of floats added in another order."""


@dataclass(slots=True)
class Line:
    """One comparison."""

    step: str
    theirs: str
    runs_ours: list[Measured] = field(default_factory=list)
    runs_theirs: list[Measured] = field(default_factory=list)

    @property
    def is_lookup(self) -> bool:
        return self.step == "readdb --url"

    def seconds(self, runs: list[Measured]) -> float:
        """The best run's; of look-ups the slower median of known and unknown URLs."""
        if self.is_lookup:
            medians = [max(run.told["known_ms"], run.told["absent_ms"]) for run in runs]
            return float(min(medians)) / 1000
        return min(run.seconds for run in runs)

    @property
    def ratio(self) -> float:
        return self.seconds(self.runs_ours) / self.seconds(self.runs_theirs)

    @property
    def cpu_ratio(self) -> float:
        ours = min(run.cpu_s for run in self.runs_ours)
        return ours / max(min(run.cpu_s for run in self.runs_theirs), 0.01)

    @property
    def peak_mib(self) -> float:
        return max(run.peak_mib for run in self.runs_ours)


@dataclass(slots=True)
class Outcome:
    """Everything measured at one size."""

    urls: int
    lines: list[Line]
    start_up: Measured
    problems: list[str]


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    console = Console()
    if options.shape == "giant" or options.beside:
        faults: list[str] = []
        for urls in options.sizes:
            if options.beside:
                faults += _compare_with_commit(options, urls, console)
            else:
                faults += compare_with_even(
                    options, _shape(options, urls), console, MEMORY_LIMIT_MIB
                )
        for fault in faults:
            console.print(f"[red]{fault}")
        return 1 if faults else 0
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="nutria-bench-") as scratch:
        work = Path(options.work or scratch)
        for urls in options.sizes:
            outcomes.append(_measure(options, urls, work, console))
            console.print(_table(outcomes[-1], options))
    if len(outcomes) > 1:
        console.print(_growth(outcomes))
    if options.json:
        Path(options.json).write_text(json.dumps([_as_dict(o) for o in outcomes], indent=1) + "\n")
    problems = [f"{o.urls:,} URLs: {problem}" for o in outcomes for problem in o.problems]
    for problem in problems:
        console.print(f"[red]{problem}")
    return 1 if problems else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("bench/run crawldb", description=__doc__)

    def sizes(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser.add_argument(
        "--urls",
        "--sizes",
        dest="sizes",
        type=sizes,
        default=[20_000_000],
        help="URLs in the CrawlDb; several sizes, with commas, show the growth",
    )
    parser.add_argument(
        "--shape",
        choices=("usual", "giant"),
        default="usual",
        help="giant: updatedb and generate with three tenths of the URLs on one host, beside the"
        " same with even hosts, and without DuckDB",
    )
    parser.add_argument(
        "--beside",
        metavar="COMMIT",
        help="the same steps of an earlier commit, in turns, and without DuckDB",
    )
    parser.add_argument("--hosts", type=int, default=50_000)
    parser.add_argument("--buckets", type=int, default=64)
    parser.add_argument("--seeds", type=int, help="seed lines (default: a 40th of the URLs)")
    parser.add_argument("--fetched", type=int, help="pages of the segment (default: a 40th)")
    parser.add_argument("--links", type=int, help="links in the segment (default: a quarter)")
    parser.add_argument("--top-n", type=int, help="URLs to generate (default: a 20th)")
    parser.add_argument("--max-count", type=int, default=1000, help="generate.max.count")
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many counts")
    parser.add_argument(
        "--steps",
        type=lambda text: text.split(","),
        default=list(STEPS),
        help=f"some of: {', '.join(STEPS)}",
    )
    parser.add_argument("--lookups", type=int, default=200)
    parser.add_argument("--cores", type=int, default=2, help="of Spark, and threads of DuckDB")
    parser.add_argument("--memory", default="5GB", help="DuckDB's memory limit")
    parser.add_argument("--seed", type=int, default=7, help="other data for another number")
    parser.add_argument("--work", help="folder for the data (default: a temporary one)")
    parser.add_argument(
        "--keep", action="store_true", help="leave the data in --work, and use those that fit"
    )
    parser.add_argument(
        "-D", dest="overrides", action="append", default=[], help="KEY=VALUE of the configuration"
    )
    parser.add_argument("--json", help="write everything measured to this file")
    options = parser.parse_args(arguments)
    options.work = options.work and str(Path(options.work).resolve())
    unknown = set(options.steps) - set(STEPS)
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    return options


def _compare_with_commit(options: argparse.Namespace, urls: int, console: Console) -> list[str]:
    shape = _shape(options, urls)
    name = str(urls)
    if options.shape == "giant":
        shape, name = replace(shape, giant=GIANT), f"{urls}-giant"
    with tempfile.TemporaryDirectory(prefix="nutria-bench-") as scratch:
        workload = _workload(options, Path(options.work or scratch) / name, shape, console)
        try:
            return compare_with_commit(options, workload, console, MEMORY_LIMIT_MIB)
        finally:
            if not options.keep:
                shutil.rmtree(workload.made.folder, ignore_errors=True)


def _workload(
    options: argparse.Namespace, folder: Path, shape: crawldb_shape.Shape, console: Console
) -> Workload:
    console.print(f"[dim]making a CrawlDb of {shape.urls:,} URLs on {options.hosts:,} hosts…")
    return Workload(
        made=crawldb_data.make(folder, shape, options.cores),
        top_n=options.top_n or shape.urls // 20,
        max_count=options.max_count,
        parts=2,
        cores=options.cores,
        lookups=options.lookups,
        overrides=tuple(options.overrides),
    )


def _measure(options: argparse.Namespace, urls: int, work: Path, console: Console) -> Outcome:
    folder = work / str(urls)
    workload = _workload(options, folder, _shape(options, urls), console)
    try:
        with (
            Process(partial(Ours, workload)) as ours,
            Process(partial(DuckDB, workload, work / f"duckdb-{urls}", options.memory)) as theirs,
        ):
            return _compare(options, urls, workload.top_n, ours, theirs, console)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def _shape(options: argparse.Namespace, urls: int) -> crawldb_shape.Shape:
    return crawldb_shape.Shape(
        urls=urls,
        hosts=options.hosts,
        buckets=options.buckets,
        seeds=options.seeds or urls // 40,
        fetched=options.fetched or urls // 40,
        links=options.links or urls // 4,
        seed=options.seed,
        file_rows=file_rows_of(options.overrides),
    )


def _compare(
    options: argparse.Namespace,
    urls: int,
    top_n: int,
    ours: Process,
    theirs: Process,
    console: Console,
) -> Outcome:
    lines = [Line(step, other) for step in options.steps for other in STEPS[step]]
    problems: list[str] = []
    for number in range(options.rounds):
        for step in options.steps:
            ours.prepare(step)
            run = ours.run(step)
            console.print(
                f"[dim]round {number + 1}: {step}: {run.seconds:.2f} s {_brief(run.told)}"
            )
            facts = ours.facts(step)
            for line in (line for line in lines if line.step == step):
                theirs.prepare(line.theirs)
                other = theirs.run(line.theirs)
                console.print(
                    f"[dim]round {number + 1}: DuckDB {line.theirs}: {other.seconds:.2f} s"
                )
                line.runs_ours.append(run)
                line.runs_theirs.append(other)
                found = _differences(step, run.told | facts, other.told | theirs.facts(line.theirs))
                if step.startswith("generate"):
                    found += _broken_promises(facts, top_n, options.max_count)
                problems += [f"{line.theirs}: {problem}" for problem in found]
    peak = max(line.peak_mib for line in lines)
    if peak > MEMORY_LIMIT_MIB:
        problems.append(f"peak memory of {peak:,.0f} MiB is above {MEMORY_LIMIT_MIB:,}")
    return Outcome(urls, lines, ours.started, sorted(set(problems)))


def _brief(told: dict[str, Any]) -> str:
    """Durations of a phase's steps; whatever else a run tells is for the JSON file."""
    return " ".join(f"{name} {value}" for name, value in told.items() if isinstance(value, float))


def _differences(step: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Where the two sides did not come to the same."""
    exact = {
        "inject": ("rows", "sorted"),
        "updatedb": ("rows", "sorted", "contents"),
        "generate": ("rows", "distinct", "unmarked", "lowest", "parts"),
        "generate --no-filter": ("rows", "distinct", "unmarked", "lowest", "parts"),
        "readdb --stats": ("urls", "statuses"),
    }.get(step, ())
    close = () if step == "readdb --url" else ("score_sum",)
    found = [
        f"{name} is {ours[name]}, DuckDB's {theirs[name]}"
        for name in exact
        if ours[name] != theirs[name]
    ]
    found += [
        f"{name} is {ours[name]}, DuckDB's {theirs[name]}"
        for name in close
        if not math.isclose(ours[name], theirs[name], rel_tol=NOISE)
    ]
    if step == "readdb --stats":
        # ours are of evenly ranked samples: a thousandth of a rank apart
        apart = [abs(a - b) for a, b in zip(ours["quantiles"], theirs["quantiles"], strict=True)]
        if max(apart) > 0.01:
            found.append(f"quantiles are up to {max(apart):.4f} apart")
    return found


def _broken_promises(facts: dict[str, Any], top_n: int, max_count: int) -> list[str]:
    found = []
    if facts["rows"] != top_n:
        found.append(f"{facts['rows']:,} URLs instead of {top_n:,}")
    if facts["distinct"] != facts["rows"]:
        found.append("a URL was selected twice")
    if facts["most_of_a_host"] > max_count:
        found.append(f"{facts['most_of_a_host']:,} URLs of one host, more than {max_count:,}")
    return found


def _table(outcome: Outcome, options: argparse.Namespace) -> Table:
    table = Table(
        title=f"{outcome.urls:,} URLs, best of {options.rounds}",
        caption=f"Spark start-up {outcome.start_up.seconds:.1f} s, not counted above",
    )
    for name in ("step", "DuckDB's way", "ours", "DuckDB", "ratio", "CPU ratio", "peak MiB"):
        table.add_column(name, justify="left" if "step" in name or "way" in name else "right")
    for line in outcome.lines:
        ours, theirs = line.seconds(line.runs_ours), line.seconds(line.runs_theirs)
        way = line.theirs.removeprefix(line.step).strip()
        shown = [
            f"{value * 1000:.1f} ms" if line.is_lookup else f"{value:.2f} s"
            for value in (ours, theirs)
        ]
        cpu = "" if line.is_lookup else f"{line.cpu_ratio:.2f}"
        table.add_row(line.step, way, *shown, f"{line.ratio:.2f}", cpu, f"{line.peak_mib:,.0f}")
    return table


def _growth(outcomes: list[Outcome]) -> Table:
    first, last = outcomes[0], outcomes[-1]
    times = last.urls / first.urls
    table = Table(title=f"growth from {first.urls:,} to {last.urls:,} URLs; {times:.1f} = linear")
    for name in ("step", "ours", "ours, CPU", "DuckDB"):
        table.add_column(name, justify="left" if name == "step" else "right")
    for small, large in zip(first.lines, last.lines, strict=True):
        cpu = [min(run.cpu_s for run in line.runs_ours) for line in (small, large)]
        table.add_row(
            large.theirs,
            f"{large.seconds(large.runs_ours) / small.seconds(small.runs_ours):.1f}",
            f"{cpu[1] / max(cpu[0], 0.01):.1f}",
            f"{large.seconds(large.runs_theirs) / small.seconds(small.runs_theirs):.1f}",
        )
    return table


def _as_dict(outcome: Outcome) -> dict[str, Any]:
    return {
        "urls": outcome.urls,
        "start_up_s": round(outcome.start_up.seconds, 2),
        "steps": [
            {
                "step": line.step,
                "duckdb": line.theirs,
                "seconds": round(line.seconds(line.runs_ours), 4),
                "duckdb_seconds": round(line.seconds(line.runs_theirs), 4),
                "ratio": round(line.ratio, 3),
                "cpu_ratio": round(line.cpu_ratio, 3),
                "peak_mib": round(line.peak_mib),
                "runs": [as_figures(run) for run in line.runs_ours],
                "duckdb_runs": [as_figures(run) for run in line.runs_theirs],
            }
            for line in outcome.lines
        ],
        "problems": outcome.problems,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
