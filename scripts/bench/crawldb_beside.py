"""The same steps as an earlier commit does them, the two taking turns in one run, each on data of
its own: whether anything has become slower, and whether it comes to the same."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import crawldb_data
from crawldb_ours import Ours, Workload
from process_tree import Measured, Process, as_figures
from rich.console import Console
from rich.table import Table

MOST = 1.05
"""How much longer a step may take than the earlier commit's: by the clock and in processor time,
for others on the machine disturb the one more than the other."""
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Line:
    """One step of both commits."""

    step: str
    before: list[Measured] = field(default_factory=list)
    now: list[Measured] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return min(run.seconds for run in self.now) / min(run.seconds for run in self.before)

    @property
    def cpu_ratio(self) -> float:
        now, before = (min(run.cpu_s for run in runs) for runs in (self.now, self.before))
        return now / max(before, 0.01)


def compare_with_commit(
    options: argparse.Namespace, workload: Workload, console: Console, memory_limit_mib: int
) -> list[str]:
    """Measures the steps of both, prints a table, and says what is wrong."""
    with checked_out(options.beside) as tree:
        folder = workload.made.folder
        other = folder.with_name(f"{folder.name}-beside")
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(folder, other, copy_function=os.link)
        try:
            before = replace(workload, made=crawldb_data.Made(other))
            lines, faults = _measure(options, workload, before, tree, console)
        finally:
            shutil.rmtree(other, ignore_errors=True)
    console.print(_table(lines, options))
    if options.json:
        Path(options.json).write_text(json.dumps([_as_dict(line) for line in lines], indent=1))
    for line in lines:
        if line.ratio > MOST and line.cpu_ratio > MOST:
            faults.append(
                f"{line.step} takes {line.ratio:.2f} times as long as {options.beside}'s, and"
                f" {line.cpu_ratio:.2f} times its processor time; at most {MOST} is allowed"
            )
        peak = max(run.peak_mib for run in line.now)
        if peak > memory_limit_mib:
            faults.append(f"{line.step}: {peak:,.0f} MiB of memory, above {memory_limit_mib:,}")
    return faults


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The tree of a commit, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="nutria-bench-") as scratch:
        git = ["git", "-C", str(_ROOT), "archive", commit]
        with subprocess.Popen(git, stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", scratch], stdin=archive.stdout, check=True)
        if archive.returncode:
            raise SystemExit(f"bench: {commit} is no commit of this repository")
        yield Path(scratch)


def _measure(
    options: argparse.Namespace, now: Workload, before: Workload, tree: Path, console: Console
) -> tuple[list[Line], list[str]]:
    lines = [Line(step) for step in options.steps if step != "readdb --url"]
    faults: list[str] = []
    with (
        Process(partial(Ours, before), tree) as earlier,
        Process(partial(Ours, now)) as ours,
    ):
        for number in range(options.rounds):
            for line in lines:
                facts = []
                for name, side, runs in (
                    (options.beside, earlier, line.before),
                    ("now", ours, line.now),
                ):
                    side.prepare(line.step)
                    runs.append(side.run(line.step))
                    facts.append(side.facts(line.step))
                    console.print(
                        f"[dim]round {number + 1}: {name}: {line.step}: {runs[-1].seconds:.2f} s,"
                        f" CPU {runs[-1].cpu_s:.2f} s"
                    )
                if facts[0] != facts[1]:
                    faults.append(f"{line.step}: {facts[1]}, {options.beside} made {facts[0]}")
    return lines, faults


def _table(lines: list[Line], options: argparse.Namespace) -> Table:
    table = Table(title=f"beside {options.beside}, best of {options.rounds}")
    table.add_column("step")
    for name in ("seconds", "ratio", "CPU seconds", "ratio", "MiB", "MB exchanged"):
        table.add_column(name, justify="right")
    for line in lines:
        both = (line.before, line.now)
        seconds = [f"{min(run.seconds for run in runs):.1f}" for runs in both]
        cpu = [f"{min(run.cpu_s for run in runs):.1f}" for runs in both]
        peaks = [f"{max(run.peak_mib for run in runs):,.0f}" for runs in both]
        exchanged = [f"{(runs[-1].told.get('bytes_exchanged') or 0) / 1e6:.1f}" for runs in both]
        table.add_row(
            line.step,
            " → ".join(seconds),
            f"{line.ratio:.2f}",
            " → ".join(cpu),
            f"{line.cpu_ratio:.2f}",
            " → ".join(peaks),
            " → ".join(exchanged),
        )
    return table


def _as_dict(line: Line) -> dict[str, Any]:
    return {
        "step": line.step,
        "ratio": round(line.ratio, 3),
        "cpu_ratio": round(line.cpu_ratio, 3),
        "before": [as_figures(run) for run in line.before],
        "now": [as_figures(run) for run in line.now],
    }
