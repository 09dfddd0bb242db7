from __future__ import annotations

from dataclasses import fields

import pytest

from crawl.config.resources import packaged
from crawl.errors import ConfigError
from crawl.planning.costs import FILE, Costs, MeasuredCost, read_costs, read_measured, write_costs

FIGURES = {field.name: MeasuredCost(n + 0.5, f'run "{n}"') for n, field in enumerate(fields(Costs))}


def test_what_is_written_is_read() -> None:
    text = write_costs(FIGURES, "a heading\nof two lines")
    assert text.startswith("# a heading\n# of two lines\n")
    assert read_measured(text, "x") == FIGURES
    assert read_costs(text, "x").inject_seed_us == 0.5


def test_the_shipped_figures_say_where_they_were_measured() -> None:
    found = read_measured((packaged() / FILE).read_text(), FILE)
    assert all(each.measured for each in found.values())
    for name in ("fetch_page_us", "parse_page_us", "updatedb_record_us", "disk_record"):
        assert found[name].value > 0


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[inject]", "[inject", "x: Expected"),
        ("[inject]", "stray = 1\n[inject]", "x: stray is not in a table"),
        ("seed_us", "sead_us", "x: there is no figure inject.sead_us"),
        ("seed_us = { value = 0.5", "seed_us = { value = -1", "x: inject.seed_us: { value"),
        ("seed_us = { value = 0.5", "seed_us = { value = nan", "x: inject.seed_us: { value"),
        ("seed_us = { value = 0.5", "seed_us = { value = true", "x: inject.seed_us: { value"),
        ("seed_us = { value = 0.5", 'seed_us = { value = "1"', "x: inject.seed_us: { value"),
        ("seed_us", "# seed_us", "x: inject.seed_us is missing"),
    ],
)
def test_a_wrong_file_is_reported_in_one_line(old: str, new: str, complaint: str) -> None:
    text = write_costs(FIGURES, "heading").replace(old, new, 1)
    with pytest.raises(ConfigError) as raised:
        read_costs(text, "x")
    assert str(raised.value).startswith(complaint)
    assert "\n" not in str(raised.value)
