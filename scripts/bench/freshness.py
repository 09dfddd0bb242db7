"""How fresh the schedules keep a copy of a web whose rates of change are known, with the
same number of fetches for each.

    .venv/bin/python scripts/bench/freshness.py [--pages N] [--interval DAYS] [--plot FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import numpy.typing as npt

from crawl.config import Config
from crawl.interfaces.schedule import FetchSchedule
from crawl.plugins.schedule.adaptive import AdaptiveFetchSchedule
from crawl.plugins.schedule.default import DefaultFetchSchedule
from crawl.plugins.schedule.freshness import best_intervals, price_for
from crawl.plugins.schedule.poisson import PoissonFetchSchedule
from tests.plugins.schedule.changing_web import ChangingWeb, FreshnessResult, simulate

DAY_S = 86_400
LONGEST_DAYS = 365
"""For all schedules: what adaptive's max_interval is by default."""
SHORTEST_DAYS = 1.0
"""The simulated crawler chooses once a day."""
SCHEDULES: dict[str, Callable[[Config], FetchSchedule]] = {
    "default": DefaultFetchSchedule,
    "adaptive": AdaptiveFetchSchedule,
    "poisson": PoissonFetchSchedule,
}
COLOURS = {"default": "#888888", "adaptive": "#d9822b", "poisson": "#2b6cb0"}


@dataclass(frozen=True)
class Result:
    """One web under every schedule."""

    name: str
    about: str
    web: ChangingWeb
    outcomes: dict[str, FreshnessResult]
    best: float
    """Freshness of the best intervals for rates that are known, in the long run."""


def webs(pages: int, days: int, seed: int) -> dict[str, tuple[str, ChangingWeb]]:
    gamma = np.random.default_rng(seed)
    return {
        "mixed": (
            "60% never change; the rest log-normal, median 10 days, σ 1.2",
            ChangingWeb.log_normal(
                pages, median_days=10, sigma=1.2, static=0.6, days=days, seed=seed
            ),
        ),
        "gamma": (
            "rates of Gamma distribution, shape 0.25, mean 1/30 a day",
            ChangingWeb.of_rates(gamma.gamma(0.25, 1 / (0.25 * 30), pages), days, gamma),
        ),
        "restless": (
            "every page changes: log-normal, median 30 days, σ 2",
            ChangingWeb.log_normal(
                pages, median_days=30, sigma=2.0, static=0.0, days=days, seed=seed
            ),
        ),
    }


def best_freshness(rates: npt.NDArray[np.float64], mean_days: float) -> float:
    known = np.maximum(rates, 1e-9)
    ones = np.ones(len(known))
    price = price_for(known, ones, mean_days, SHORTEST_DAYS, LONGEST_DAYS)
    changes = known * best_intervals(known, price, SHORTEST_DAYS, LONGEST_DAYS)
    return float((-np.expm1(-changes) / changes).mean())


def run(name: str, about: str, web: ChangingWeb, interval: float) -> Result:
    a_day = max(round(web.size / interval), 1)
    config = Config.of(
        {
            "db.fetch.interval.default": f"{interval}d",
            "db.fetch.interval.max": LONGEST_DAYS * DAY_S,
        }
    )
    outcomes = {
        schedule: simulate(make(config), web, a_day, LONGEST_DAYS * DAY_S)
        for schedule, make in SCHEDULES.items()
    }
    return Result(name, about, web, outcomes, best_freshness(web.rates, web.size / a_day))


def print_table(result: Result) -> None:
    year = min(365, result.web.days // 2)
    base = result.outcomes["default"].freshness
    print(f"\n{result.name}: {result.about}")
    print(f"  {'schedule':10}{'fetches':>9}{'asked':>8}{'freshness':>11}{'ratio':>8}{'later':>8}")
    for schedule, outcome in result.outcomes.items():
        print(
            f"  {schedule:10}{outcome.fetches:9,}{outcome.asked:8.2f}{outcome.freshness:11.4f}"
            f"{outcome.freshness / base:8.3f}{outcome.since(year):8.4f}"
        )
    print(f"  {'(known)':10}{'':9}{'':8}{'':11}{'':8}{result.best:8.4f}")


def as_json(result: Result) -> dict[str, Any]:
    return {
        "web": result.name,
        "about": result.about,
        "known": result.best,
        "schedules": {
            schedule: {
                "fetches": outcome.fetches,
                "asked": outcome.asked,
                "freshness": outcome.freshness,
                "second_half": outcome.since(result.web.days // 2),
            }
            for schedule, outcome in result.outcomes.items()
        },
    }


def plot(result: Result, interval: float, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), constrained_layout=True)
    window = 30
    for schedule, outcome in result.outcomes.items():
        smooth = np.convolve(outcome.by_day, np.ones(window) / window, mode="valid")
        days = np.arange(len(smooth)) + window / 2
        left.plot(days, smooth, color=COLOURS[schedule], label=schedule)
    left.axhline(result.best, color="black", ls=":", lw=1, label="best, rates known")
    left.set_xlabel("day")
    left.set_ylabel("share of pages that are fresh")
    left.set_title(f"one fetch a page every {interval:g} days")
    left.legend(loc="lower right")
    left.grid(alpha=0.3)

    rates = result.web.rates
    changing = rates > 0
    edges = np.quantile(rates[changing], np.linspace(0, 1, 13))
    middle = np.sqrt(edges[:-1] * edges[1:])
    place = np.clip(np.searchsorted(edges, rates[changing], side="right") - 1, 0, len(middle) - 1)
    years = result.web.days / 365
    for schedule, outcome in result.outcomes.items():
        visits = outcome.visits[changing]
        mean = [visits[place == at].mean() / years for at in range(len(middle))]
        right.plot(middle, mean, "o-", ms=3, color=COLOURS[schedule], label=schedule)
    known = np.maximum(rates, 1e-9)
    price = price_for(known, np.ones(len(known)), interval, SHORTEST_DAYS, LONGEST_DAYS)
    line = np.logspace(np.log10(edges[0]), np.log10(edges[-1]), 200)
    right.plot(
        line,
        365 / best_intervals(line, price, SHORTEST_DAYS, LONGEST_DAYS),
        color="black",
        ls=":",
        lw=1,
        label="best, rates known",
    )
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel("changes of the page a day")
    right.set_ylabel("fetches of it a year")
    right.set_title("where the fetches go")
    right.legend(loc="lower left")
    right.grid(alpha=0.3, which="both")
    figure.suptitle(result.about, fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def in_order(result: Result) -> bool:
    freshness = {schedule: each.freshness for schedule, each in result.outcomes.items()}
    return freshness["poisson"] > freshness["adaptive"] > freshness["default"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument(
        "--interval", type=float, default=30, help="the budget: days between a page's fetches"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--webs", default="mixed,gamma,restless")
    parser.add_argument("--plot", type=Path, help="a PNG or SVG file of the first web")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    chosen = webs(options.pages, options.days, options.seed)
    results = []
    print(
        f"{options.pages:,} pages, {options.days} days, one fetch a page every"
        f" {options.interval:g} days on average, the same number for all"
    )
    for name in options.webs.split(","):
        result = run(name, *chosen[name], options.interval)
        print_table(result)
        results.append(result)
    print(
        "\nasked: pages due at the beginning of a day over the day's fetches; freshness: all"
        " days;\nratio: to default; later: the second half; (known): the best possible in the"
        " long run"
    )
    if options.plot:
        plot(results[0], options.interval, options.plot)
    if options.json:
        options.json.write_text(json.dumps([as_json(result) for result in results], indent=2))
    if results[0].name == "mixed" and not in_order(results[0]):
        print("FAILED: not poisson > adaptive > default", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
