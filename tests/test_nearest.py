from __future__ import annotations

import pytest

from crawl.nearest import nearest


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("opci", ["opic", "depth"], " (did you mean 'opic'?)"),
        ("injekt", ["inject", "generate"], " (did you mean 'inject'?)"),
        ("xyz", ["opic", "depth"], ""),
        ("opic", [], ""),
        ("", ["opic"], ""),
    ],
)
def test_nearest(name: str, known: list[str], said: str) -> None:
    assert nearest(name, known) == said


def test_any_iterable_will_do() -> None:
    assert nearest("opci", iter({"opic": 1})) == " (did you mean 'opic'?)"
