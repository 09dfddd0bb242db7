from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from crawl.plugins.urlfilter.years import YearRange


@given(st.integers(0, 2999), st.integers(0, 2999))
def test_the_expression_finds_exactly_the_years_outside(least: int, most: int) -> None:
    years = YearRange(least, most)
    outside = re.compile(years.outside() or r"(?!)")
    for year in (1000, 1799, 1800, 1999, 2000, 2040, 2041, 2999, *range(least - 1, least + 2)):
        if 1000 <= year <= 2999:
            assert (outside.fullmatch(str(year)) is None) == (year in years)
