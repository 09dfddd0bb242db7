"""How much of a web's PageRank a crawl has after a part of its pages, for orders of scoring, on a
web whose whole graph is known, with a spam farm in it.

    .venv/bin/python scripts/bench/order.py [--pages N] [--orders NAME,…] [--hijacked SHARE]
        [--pages-a-spam-host N] [--seeds N]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from order_crawl import Crawl, Order, run_crawl
from order_web import PAGES_PER_SPAM_HOST, Nodes, Web, make_web

MARKS = (0.1, 0.2, 0.4)
GOAL_MASS = 0.9
"""Of the omniscient order's, after 20% of the pages."""
GOAL_SPAM = 0.05
"""Of what was fetched, at each mark."""
WINNER = "linkrank"
ORDERS = {
    order.name: order
    for order in (
        Order("breadth-first", "opic"),
        Order("omniscient-frontier", "opic"),
        Order("opic", "opic"),
        Order("domain-budget", "domain-budget"),
        Order("host-harmonic", "host-centrality", host_ranks="harmonic", every=4),
        Order("host-centrality", "host-centrality", host_ranks="mean-rank", every=4),
        Order("pagerank", "linkrank", updates_scores=True),
        Order("linkrank-5", "linkrank", updates_scores=True, by_domain=True, every=5),
        Order("linkrank-2", "linkrank", updates_scores=True, by_domain=True, every=2),
        Order("linkrank", "linkrank", updates_scores=True, by_domain=True),
    )
}


@dataclass(frozen=True)
class Result:
    """One order on one web."""

    order: str
    seed: int
    mass: list[float]
    """Of honest PageRank, relative to the omniscient order, at each mark."""
    raw: list[float]
    """The same of the whole web's PageRank, in which spam counts."""
    spam: list[float]
    """The farm's share of what was fetched."""
    known: int
    seconds: float


def by_truth(crawl: Crawl, most: int) -> Nodes:
    waiting = np.flatnonzero(crawl.is_known & ~crawl.is_fetched)
    return waiting[np.lexsort((crawl.ties[waiting], -crawl.web.truth[waiting]))[:most]]


def breadth_first(crawl: Crawl, most: int) -> Nodes:
    """Those first that have waited longest; scores keep the round in which a page was found."""
    waiting = np.flatnonzero(crawl.is_known & ~crawl.is_fetched)
    fresh = waiting[crawl.scores[waiting] <= 1.0]
    crawl.scores[fresh] = 2.0 + len(crawl.fetched_in)
    return waiting[np.lexsort((crawl.ties[waiting], crawl.scores[waiting]))[:most]]


CHOOSERS = {"breadth-first": breadth_first, "omniscient-frontier": by_truth}


def measure(web: Web, order: Order, a_round: int, seed: int) -> Result:
    started = time.perf_counter()
    with TemporaryDirectory() as work:
        crawl = Crawl(web, order, Path(work), np.random.default_rng(seed))
        budget = int(web.pages * MARKS[-1])
        fetched = run_crawl(crawl, budget, a_round, CHOOSERS.get(order.name))
    counts = [min(int(web.pages * mark), len(fetched)) for mark in MARKS]
    return Result(
        order.name,
        seed,
        [float(web.truth[fetched[:count]].sum() / _best(web.truth, count)) for count in counts],
        [float(web.raw[fetched[:count]].sum() / _best(web.raw, count)) for count in counts],
        [float((fetched[:count] >= web.honest).mean()) for count in counts],
        int(crawl.is_known.sum()),
        time.perf_counter() - started,
    )


def _best(ranks: np.ndarray[tuple[int], np.dtype[np.float64]], count: int) -> float:
    return float(np.sort(ranks)[::-1][:count].sum())


def print_result(result: Result) -> None:
    columns = [*result.mass, *result.spam, *result.raw]
    figures = "".join(
        f"{value:8.1%}" + ("  " if place % 3 == 2 else "") for place, value in enumerate(columns)
    )
    print(f"{result.order:20}{figures}{result.known:10,}{result.seconds:7.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--spam", type=float, default=0.2, help="share of pages")
    parser.add_argument(
        "--hijacked", type=float, default=0.01, help="share of links between honest hosts"
    )
    parser.add_argument(
        "--pages-a-spam-host", type=int, default=PAGES_PER_SPAM_HOST, help="each host is a domain"
    )
    parser.add_argument("--rounds", type=int, default=20, help="that 40%% of the pages take")
    parser.add_argument("--orders", default=",".join(ORDERS))
    parser.add_argument("--seed", type=int, default=1, help="of the web, and of equal scores")
    parser.add_argument("--seeds", type=int, default=1, help="webs, with this seed and the next")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    unknown = set(options.orders.split(",")) - ORDERS.keys()
    if unknown:
        parser.error(f"no order is called {', '.join(sorted(unknown))}: {', '.join(ORDERS)}")
    if options.seeds < 1:
        parser.error("--seeds is at least 1")

    results = []
    for seed in range(options.seed, options.seed + options.seeds):
        results += on_web(options, seed)
    if options.seeds > 1:
        print_spread(results)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=2))
    failed = [each for each in results if each.order == WINNER and not reaches_goal(each)]
    for result in failed:
        print(f"FAILED: {WINNER} misses the goal with seed {result.seed}", file=sys.stderr)
    return 1 if failed else 0


def on_web(options: argparse.Namespace, seed: int) -> list[Result]:
    """All orders on the web of a seed."""
    web = make_web(options.pages, options.spam, options.hijacked, seed, options.pages_a_spam_host)
    best = ", ".join(f"{_best(web.truth, int(web.pages * mark)):.1%}" for mark in MARKS)
    print(
        f"seed {seed}: {web.pages:,} pages, {len(web.sources):,} links,"
        f" {web.honest_hosts:,} honest hosts; {web.pages - web.honest:,} spam pages on"
        f" {web.host_count - web.honest_hosts:,} hosts, {web.raw[web.honest :].sum():.1%} of raw"
        f" PageRank\nomniscient: {best} of the honest PageRank after 10, 20, 40% of the pages\n"
    )
    print(f"{'':20}{'mass / omniscient':^26}{'spam / fetched':^26}{'raw / omniscient':^26}")
    print(f"{'order':20}" + (("".join(f"{mark:8.0%}" for mark in MARKS)) + "  ") * 3 + "     known")
    a_round = max(int(web.pages * MARKS[-1] / options.rounds), 1)
    results = []
    for name in options.orders.split(","):
        results.append(measure(web, ORDERS[name], a_round, seed))
        print_result(results[-1])
    print()
    return results


def print_spread(results: list[Result]) -> None:
    """Of each order the mean over all webs, and the least and greatest."""
    for name in dict.fromkeys(result.order for result in results):
        some = [result for result in results if result.order == name]
        print(f"{name} on {len(some)} webs")
        for what in ("mass", "spam"):
            columns = list(zip(*(getattr(each, what) for each in some), strict=True))
            figures = (
                f"{sum(column) / len(column):7.1%} ({min(column):.1%} to {max(column):.1%})"
                for column in columns
            )
            print(f"  {what} {''.join(figures)}")


def reaches_goal(result: Result) -> bool:
    return result.mass[1] >= GOAL_MASS and max(result.spam) <= GOAL_SPAM


if __name__ == "__main__":
    sys.exit(main())
