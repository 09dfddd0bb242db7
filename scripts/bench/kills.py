"""Crawls killed at random, again and again: is anything lost, doubled, or asked for too often?
See README.md beside this file."""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.phases.random_kills import (
    AT_STAKE,
    Tally,
    kill_at_random,
    kill_commands_at_random,
)

_SHOWN = 20
"""Faults that are told one by one."""


def main() -> int:
    options = _options()
    console = Console()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    commands = min(options.kills, options.commands)
    console.print(f"{options.kills} kills, {commands} of them of commands on Spark; seed {seed}")
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="bench-kills-") as folder:
        done = 0
        while done < options.kills - commands:
            some = min(options.every, options.kills - commands - done)
            kill_at_random(tally, Path(folder), some, seed + done)
            done += some
            console.print(_line(tally))
        if commands:
            kill_commands_at_random(tally, Path(folder), commands, seed)
            console.print(_line(tally))
    _show(tally, console)
    return 0 if tally.is_good else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run kills",
        description="Kills crawls of the synthetic web at random; exit code 1 where anything is"
        " lost or doubled, or more is asked for again than a death may cost.",
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
    return parser.parse_args()


def _line(tally: Tally) -> str:
    return (
        f"{tally.deaths} kills in {tally.crawls} crawls: {len(tally.lost)} lost,"
        f" {len(tally.doubled)} doubled, {tally.asked_again} asked for again"
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
        f"asked for again, a kill: {tally.asked_again / max(1, tally.deaths):.2f};"
        f" in the worst crawl {tally.most_asked_again:.2f}, allowed {AT_STAKE}"
    )
    for fault in (tally.lost + tally.doubled)[:_SHOWN]:
        console.print(f"  {fault}", markup=False)


if __name__ == "__main__":
    raise SystemExit(main())
