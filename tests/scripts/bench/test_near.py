"""The labelled pairs of the benchmark of near duplicates."""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("package_a", "package_b")
BENCH = Path(__file__).parents[3] / "scripts" / "bench" / "near.py"


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark, which is in no package."""
    spec = importlib.util.spec_from_file_location("bench_near", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_near", module)
    spec.loader.exec_module(module)
    return module


def test_pairs_are_labelled_once_and_in_halves(near: Any) -> None:
    with near.PAIRS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) >= 200
    assert len(
        {(row["package_a"], row["path_a"], row["package_b"], row["path_b"]) for row in rows}
    ) == len(rows)
    counts = Counter((row["label"], row["half"]) for row in rows)
    assert set(counts) == {(a, b) for a in ("same", "different") for b in near.HALVES}
    assert min(counts.values()) >= 40
    by_half = {
        half: {row[name].split("=")[0] for row in rows if row["half"] == half for name in PACKAGES}
        for half in near.HALVES
    }
    assert not by_half["fresh"] & (by_half["chosen"] | by_half["second"])
    assert all(row["why"] for row in rows)
    assert near.Nearness.parse("jaccard").threshold == near.DEFAULT


def test_scores(near: Any) -> None:
    pairs = [near.Pair("a", "b", True, ""), near.Pair("a", "c", False, "")]
    pairs += [near.Pair("d", "e", True, ""), near.Pair("f", "g", False, "")]
    score = near.score_pairs({"a": 0, "b": 0, "c": 0, "e": 1}, pairs)
    assert (score.precision, score.recall, score.wrong) == (0.5, 0.5, 1)
    assert "0.500 [0.095, 0.905]" in str(score)


def test_an_interval_holds_what_the_sample_leaves_open(near: Any) -> None:
    assert near.wilson(0, 0) == (0.0, 1.0)
    assert near.wilson(115, 137) == pytest.approx((0.769, 0.891), abs=0.001)
    assert near.wilson(50, 50) == pytest.approx((0.929, 1.0), abs=0.001)


def test_a_small_crawl_is_measured(near: Any, tmp_path: Path) -> None:
    text = " ".join(f"word{n}" for n in range(90))
    pages = [
        near.Page(f"http://{host}.test/", "Manual", text + end, host.encode() * 4)
        for host, end in (
            ("a", ""),
            ("b", " today"),
            ("c", " but" * 40 + " and more " * 30 + text.upper()),
        )
    ]
    groups = near.groups_of(near.make_crawl(tmp_path / "c", pages), "jaccard")
    assert groups["http://a.test/"] == groups["http://b.test/"]
