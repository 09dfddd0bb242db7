from __future__ import annotations

import pytest

from crawl.did_you_mean import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("opci", ["opic", "depth"], " (did you mean 'opic'?)"),
        ("injekt", ["inject", "generate"], " (did you mean 'inject'?)"),
        ("xyz", ["opic", "depth"], ""),
        ("opic", [], ""),
        ("", ["opic"], ""),
    ],
)
def test_nearest(name: str, known: list[str], expected: str) -> None:
    assert did_you_mean(name, known) == expected


def test_any_iterable_will_do() -> None:
    assert did_you_mean("opci", iter({"opic": 1})) == " (did you mean 'opic'?)"
