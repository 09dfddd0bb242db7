"""How much of the main text extractors find on the labelled pages, by kind.

    .venv/bin/python scripts/bench/export_quality.py [--seeds N] [--held-out] [--json]

F1 over words, as the published comparisons count it, on the layouts that the heuristics were tuned
on and on those that were held out; beside trafilatura, readability and resiliparse, where they are
installed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from export import Extractor, contestants, f1
from labelled_pages import HELD_OUT, LabelledPage, labelled_pages


def scores(extract: Extractor, pages: list[LabelledPage]) -> dict[str, float]:
    """The mean of each kind, and of all."""
    found: dict[str, list[float]] = {}
    for page in pages:
        found.setdefault(page.kind, []).append(f1(extract(page.html) or "", page.text))
    means = {kind: sum(values) / len(values) for kind, values in found.items()}
    return {"all": sum(map(sum, found.values())) / len(pages), **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="texts of each page")
    parser.add_argument("--tuned-only", action="store_true", help="leave the held-out pages alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pages = [page for seed in range(1, options.seeds + 1) for page in labelled_pages(seed)]
    sets = {"tuned": [page for page in pages if page.variant not in HELD_OUT]}
    if not options.tuned_only:
        sets["held out"] = [page for page in pages if page.variant in HELD_OUT]
    results = {
        name: {
            who: scores(extract, chosen)
            for who, extract in contestants(markdown=False)
            if "all of" not in who
        }
        for name, chosen in sets.items()
    }
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for name, rows in results.items():
        print(f"\n{name}: {len(sets[name])} pages")
        for who, row in rows.items():
            kinds = " ".join(f"{kind} {value:.2f}" for kind, value in row.items() if kind != "all")
            print(f"{who:30} {row['all']:.3f}  {kinds}")


if __name__ == "__main__":
    main()
