"""The benchmark of crawl orders, on a web that is small enough for a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "scripts" / "bench" / "order.py"


@pytest.mark.slow
def test_ranks_of_the_known_graph_beat_breadth_first_and_find_little_spam(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    orders = "breadth-first,host-centrality,domain-budget,linkrank"
    arguments = ["--pages", "8000", "--orders", orders, "--json", str(out)]
    done = subprocess.run(
        [sys.executable, str(BENCH), *arguments], capture_output=True, text=True, check=False
    )
    # so small a web may miss the goal
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    results = {each["order"]: each for each in json.loads(out.read_text())}
    assert set(results) == set(orders.split(","))
    first, best = results["breadth-first"], results["linkrank"]
    assert best["mass"][0] > first["mass"][0]
    assert best["mass"][1] > max(first["mass"][1], 0.85)
    assert best["spam"][1] < first["spam"][1]


def test_an_order_that_there_is_not() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH), "--orders", "opik"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no order is called opik" in done.stderr


@pytest.mark.slow
def test_several_webs_are_told_apart_and_together(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    arguments = ["--pages", "2000", "--orders", "linkrank,host-centrality", "--seeds", "2"]
    done = subprocess.run(
        [sys.executable, str(BENCH), *arguments, "--seed", "5", "--json", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    results = json.loads(out.read_text())
    assert [(each["order"], each["seed"]) for each in results] == [
        (order, seed) for seed in (5, 6) for order in ("linkrank", "host-centrality")
    ]
    assert results[0]["mass"] != results[2]["mass"], "another web"
    assert "seed 6: 2,000 pages" in done.stdout
    assert "host-centrality on 2 webs" in done.stdout
    masses = [each["mass"][1] for each in results if each["order"] == "linkrank"]
    assert f"{sum(masses) / 2:.1%} ({min(masses):.1%} to {max(masses):.1%})" in done.stdout
    missed = [
        each["seed"]
        for each in results
        if each["order"] == "linkrank" and (each["mass"][1] < 0.9 or max(each["spam"]) > 0.05)
    ]
    assert done.returncode == (1 if missed else 0)
    assert all(f"misses the goal with seed {seed}" in done.stderr for seed in missed)
