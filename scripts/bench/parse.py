"""Fetch, parse and store of the same pages, beside Scrapy that does the same; and what each
step of parsing costs, beside BeautifulSoup. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import fetch_contestants as contestants
from fetch import Goal, Line, show_goals
from fetch_contestants import HERE, SCRAPY_HOME, Contestant, measured
from fetch_list import Listed, listed
from process_tree import cpu_s
from rich.console import Console
from rich.table import Table

from crawl.synthetic.web import Settings

FASTER_THAN_SCRAPY = 10.0
CPU_MS = 2.0
OURS = {"phases": "fetch, then parse", "inside": "fetch that parses"}


def main() -> int:
    options = _options()
    console = Console()
    # as on a machine of users: where it is forbidden to keep what was compiled, every parser
    # that is started would compile all of our modules again
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    work = Path(options.work or tempfile.mkdtemp(prefix="bench-parse-"))
    settings = Settings.plain(options.hosts, options.pages, port=0, links=options.links)
    try:
        with listed(settings, work, os.cpu_count() or 1) as web:
            entered = _entered(options, web, console)
            lines = [Line(each.name) for each in entered]
            for _ in range(options.rounds):
                for line, each in zip(lines, entered, strict=True):
                    before = cpu_s(web.server.pid)
                    run = each.run()
                    run.told["server_cpu_s"] = cpu_s(web.server.pid) - before
                    if run.pages != options.pages:
                        raise SystemExit(f"bench: {each.name} got {run.pages} pages")
                    line.runs.append(run)
            steps = _steps(options, web)
    finally:
        if not options.work:
            shutil.rmtree(work, ignore_errors=True)
    _show(lines, options, console)
    _show_processes(lines, console)
    _show_steps(steps, console)
    goals = _goals(lines)
    show_goals(goals, console)
    if options.json:
        told = {
            "options": vars(options),
            "runs": {line.name: [asdict(run) for run in line.runs] for line in lines},
            "steps_cpu_ms": steps,
            "goals": [asdict(goal) | {"met": goal.met} for goal in goals],
        }
        Path(options.json).write_text(json.dumps(told, indent=1))
    return 0 if all(goal.met for goal in goals) else 1


def _entered(options: argparse.Namespace, web: Listed, console: Console) -> list[Contestant]:
    entered = [_ours(options, web, how) for how in options.how]
    if options.scrapy and contestants.has_scrapy():
        command = [str(SCRAPY_HOME / "bin/python"), str(HERE / "parse_scrapy.py")]
        command += [str(web.plan), "32", "8", str(web.work / "items.jsonl")]
        entered.append(Contestant("Scrapy", lambda: measured(command)))
    else:
        console.print("Scrapy is left out: it is not wanted or cannot be installed")
    return entered


def _settings(options: argparse.Namespace, web: Listed, how: str) -> Path:
    values: dict[str, Any] = {"fetcher.server.delay": 0.0, "fetcher.threads.fetch": 50}
    if how == "inside":
        values["fetcher.parse"] = True
    return web.settings(**values, **options.settings)


def _ours(options: argparse.Namespace, web: Listed, how: str) -> Contestant:
    def run() -> Any:
        crawl = web.copy()
        told = _settings(options, web, how)
        command = [sys.executable, str(HERE / "parse_ours.py"), str(crawl), str(told), how]
        try:
            return measured(command)
        finally:
            shutil.rmtree(crawl)

    return Contestant(OURS[how], run)


def _steps(options: argparse.Namespace, web: Listed) -> dict[str, float]:
    crawl = web.copy()
    told = _settings(options, web, "phases")
    fetched = [sys.executable, str(HERE / "fetch_ours.py"), str(crawl), str(told)]
    measured(fetched)
    command = [sys.executable, str(HERE / "parse_steps.py"), str(crawl), str(told)]
    return contestants.told([*command, str(options.step_pages)])


def _show(lines: list[Line], options: argparse.Namespace, console: Console) -> None:
    rival = next((line for line in lines if line.name == "Scrapy"), None)
    table = Table(
        title=f"fetch + parse + store: {options.pages:,} pages of ~30 kB on {options.hosts} hosts,"
        f" best of {options.rounds}"
    )
    table.add_column("")
    for column in ("pages/s", "× Scrapy", "CPU ms/page", "pages/s a core", "× Scrapy"):
        table.add_column(column, justify="right")
    for line in lines:
        pace = f"{line.pages_per_s / rival.pages_per_s:.1f}" if rival else ""
        cheap = f"{rival.cpu_ms / line.cpu_ms:.1f}" if rival else ""
        table.add_row(
            line.name,
            f"{line.pages_per_s:,.0f}",
            pace,
            f"{line.cpu_ms:.2f}",
            f"{1000 / line.cpu_ms:,.0f}",
            cheap,
        )
    console.print(table)


def _show_processes(lines: list[Line], console: Console) -> None:
    table = Table(title="CPU by process, ms a page")
    table.add_column("")
    for column in ("user", "system"):
        table.add_column(column, justify="right")
    for line in lines:
        best = min(line.runs, key=lambda run: run.cpu_ms)
        for name, spent in best.told["processes_cpu_s"].items():
            table.add_row(f"{line.name}: {name}", *(_ms(each, best.pages) for each in spent))
        table.add_row(f"{line.name}: the server", _ms(best.told["server_cpu_s"], best.pages), "")
    console.print(table)


def _show_steps(steps: dict[str, float], console: Console) -> None:
    table = Table(title="CPU by step, in one process")
    table.add_column("")
    table.add_column("ms a page", justify="right")
    for name, cost in steps.items():
        table.add_row(name, f"{cost:.3f}")
    console.print(table)


def _ms(seconds: float, pages: int) -> str:
    return f"{1000 * seconds / pages:.3f}"


def _goals(lines: list[Line]) -> list[Goal]:
    rival = next((line for line in lines if line.name == "Scrapy"), None)
    best = min((line for line in lines if line is not rival), key=lambda line: line.cpu_ms)
    goals = [Goal(f"{best.name}: CPU ms a page", best.cpu_ms, CPU_MS, at_most=True)]
    if rival is not None:
        fastest = max(line.pages_per_s for line in lines if line is not rival)
        times = fastest / rival.pages_per_s
        goals.append(Goal("pages/s × Scrapy's", times, FASTER_THAN_SCRAPY))
    return goals


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--how", type=lambda text: text.split(","), default=list(OURS))
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--links", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--step-pages", type=int, default=1_000)
    parser.add_argument("--no-scrapy", dest="scrapy", action="store_false")
    parser.add_argument("-D", dest="settings", type=_setting, action="append", default=[])
    parser.add_argument("--work", help="a folder to keep the files in")
    parser.add_argument("--json", help="a file for every run's figures")
    options = parser.parse_args()
    options.settings = dict(options.settings)
    return options


def _setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


if __name__ == "__main__":
    sys.exit(main())
