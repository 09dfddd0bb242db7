"""How much of the main text extractors find on the labelled pages, by kind.

    .venv/bin/python scripts/bench/export_quality.py [--seeds N] [--tuned-only] [--json]
    .venv/bin/python scripts/bench/export_quality.py --real FOLDER

F1 over words, as the published comparisons count it, on the layouts that the heuristics were tuned
on and on those that were held out; beside trafilatura, readability and resiliparse, where they are
installed. `--real`: on public sets of real pages that people have marked, which that folder has
(labelled_sets.py): F1 of passages that belong to the main text or do not, or over words.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import labelled_sets
from export import Extractor, contestants, f1
from labelled_pages import HELD_OUT, LabelledPage, labelled_pages
from selectolax.lexbor import LexborHTMLParser


def scores(extract: Extractor, pages: list[LabelledPage]) -> dict[str, float]:
    """The mean of each kind, and of all."""
    found: dict[str, list[float]] = {}
    for page in pages:
        found.setdefault(page.kind, []).append(f1(extract(page.html) or "", page.text))
    means = {kind: sum(values) / len(values) for kind, values in found.items()}
    return {"all": sum(map(sum, found.values())) / len(pages), **means}


def on_real_pages(folder: Path) -> None:
    """A line for each extractor and set."""
    with_passages, marked = list(labelled_sets.passages(folder)), list(labelled_sets.marked(folder))
    if not with_passages and not marked:
        raise SystemExit(f"{folder} has neither of the two sets (labelled_sets.py tells which)")
    contents = [LexborHTMLParser(page.content).text(separator=" ") for page in marked]
    for who, extract in contestants(markdown=False):
        if "all of" in who:
            continue
        if with_passages:
            precision, recall = labelled_sets.precision_and_recall(with_passages, extract)
            both = 2 * precision * recall / (precision + recall)
            found = f"precision {precision:.3f}, recall {recall:.3f}, F1 {both:.3f}"
            print(f"{who:30} {len(with_passages)} pages with passages: {found}")
        if marked:
            pairs = zip(marked, contents, strict=True)
            values = [f1(extract(page.html) or "", content) for page, content in pairs]
            mean = sum(values) / len(values)
            print(f"{who:30} {len(marked)} pages with their main content: F1 {mean:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="texts of each page")
    parser.add_argument("--tuned-only", action="store_true", help="leave the held-out pages alone")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--real", type=Path, metavar="FOLDER", help="with a public set")
    options = parser.parse_args()
    if options.real:
        on_real_pages(options.real)
        return
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
