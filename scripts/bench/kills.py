"""Crawls and single commands killed at random, again and again: is anything lost, doubled, stale,
damaged, or asked for too often? See README.md beside this file."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

import tests.no_power_cut  # noqa: F401 - by being loaded
from tests.phases.every_phase import every_phase
from tests.phases.kill_tally import AT_STAKE, Tally
from tests.phases.random_kills import kill_at_random, kill_commands_at_random
from tests.phases.random_phase_kills import PhaseKills

_SHOWN = 50
"""Faults that are told one by one."""
_CRAWLS = 0.2
"""The share of the kills without a JVM that whole crawls die of; the others are of single commands,
each of which is compared with an undisturbed run."""


def main() -> int:
    options = _options()
    console = Console()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    commands = min(options.kills, options.commands)
    crawls = round(_CRAWLS * (options.kills - commands))
    phases = options.kills - commands - crawls
    if options.only:
        phases, crawls, commands = (
            options.kills if options.only == each else 0 for each in ("phases", "crawls", "spark")
        )
    console.print(
        f"{phases} kills of single commands, {crawls} of crawls and {commands} of commands on"
        f" Spark; seed {seed}"
    )
    tally, began = Tally(), time.monotonic()

    def kill_some(kill: Callable[[int, int], object], kills: int) -> None:
        for done in range(0, kills, options.every):
            # seeds far apart: each case has one of its own
            kill(min(options.every, kills - done), seed + 1000 * done)
            console.print(f"{time.monotonic() - began:.0f} s: {_line(tally)}")

    with tempfile.TemporaryDirectory(prefix="bench-kills-") as name:
        folder = Path(name)
        if phases:
            with every_phase(folder / "stages") as stages:
                of_phases = PhaseKills(stages, folder)
                kill_some(lambda kills, first: of_phases.kill(tally, kills, first), phases)
        kill_some(lambda kills, first: kill_at_random(tally, folder, kills, first), crawls)
        kill_some(
            lambda kills, first: kill_commands_at_random(tally, folder, kills, first), commands
        )
    _show(tally, console)
    return 0 if tally.is_good else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run kills",
        description="Kills commands and crawls of the synthetic web at random; exit code 1 where"
        " anything is lost, doubled, stale or damaged, or more is asked for again than a death may"
        " cost. A fault is told with the seed of its case, which `--only phases --kills 1 --seed"
        " SEED` runs again.",
        epilog="examples: run kills --kills 500    run kills --kills 40 --commands 0 --seed 7",
    )
    parser.add_argument("--kills", type=int, default=500, help="how many (default: 500)")
    parser.add_argument(
        "--commands", type=int, default=12, help="of them: of commands on Spark (default: 12)"
    )
    parser.add_argument("--seed", type=int, help="of the dice (default: another each time)")
    parser.add_argument(
        "--every", type=int, default=25, help="a line is told after so many (default: 25)"
    )
    parser.add_argument(
        "--only",
        choices=("phases", "crawls", "spark"),
        help="all kills of single commands, of crawls, or of commands on Spark",
    )
    return parser.parse_args()


def _line(tally: Tally) -> str:
    return (
        f"{tally.deaths} kills in {tally.phases} runs of single commands and {tally.crawls} crawls:"
        f" {len(tally.lost)} lost, {len(tally.doubled)} doubled, {len(tally.stale)} stale,"
        f" {len(tally.damaged)} damaged, {tally.asked_again} asked for again"
    )


def _show(tally: Tally, console: Console) -> None:
    ways = sorted({way for _, way in tally.kills})
    table = Table("phase", *ways, "all", title="kills")
    for phase in sorted({phase for phase, _ in tally.kills}):
        counts = [tally.kills[phase, way] for way in ways]
        table.add_row(phase, *map(str, counts), str(sum(counts)))
    console.print(table)
    console.print(_line(tally))
    console.print(
        f"asked for again, a kill of a crawl: in the worst crawl {tally.most_asked_again:.2f},"
        f" allowed {AT_STAKE}"
    )
    for fault in tally.faults[:_SHOWN]:
        console.print(f"  {fault}", markup=False)


if __name__ == "__main__":
    raise SystemExit(main())
