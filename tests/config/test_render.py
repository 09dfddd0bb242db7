from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import crawl
from crawl.config import Config, Property, duration, integer, load, text
from crawl.config.properties import CORE
from crawl.config.render import distinct, render, toml
from crawl.declared import declared_properties
from crawl.errors import ConfigError

CONF = Path(crawl.__file__).parents[1] / "conf"

DELAY = duration("fetcher.server.delay", 5, "Pause between requests.", unit="s")
MIN = duration("fetcher.min.crawl.delay", DELAY, "Shortest pause.", unit="s")


def built_in() -> list[Property[Any]]:
    """The core's properties and all that the project declares beside them."""
    return [*CORE.values(), *declared_properties()]


def test_the_committed_file_is_the_rendering() -> None:
    committed = (CONF / "crawl-default.toml").read_text(encoding="utf-8")
    assert committed == render(built_in()), "crawl showproperties --toml > conf/crawl-default.toml"


def test_as_a_site_file_it_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "crawl-site.toml").write_text(render(built_in()), encoding="utf-8")
    config = load(conf=tmp_path, extra=built_in)
    assert config.changed() == ()
    assert config.digest() == Config().digest()
    assert set(CORE) <= set(config.settings)


def test_the_example_of_a_site_file_is_valid() -> None:
    config = load(conf=CONF / "crawl-site.toml.example", extra=built_in)
    assert len(config.changed()) > 1


def test_an_entry() -> None:
    count = integer("a.count", 3, "How many.", unit="rows", minimum=1)
    assert render([count]).endswith(
        '\n\n# How many.\n# integer in rows, at least 1\n"a.count" = 3\n'
    )


def test_a_default_that_is_another_property_is_shown_but_not_set() -> None:
    rendered = render([DELAY, MIN])
    assert '# "fetcher.min.crawl.delay" = the value of fetcher.server.delay\n' in rendered
    assert tomllib.loads(rendered) == {"fetcher.server.delay": 5}


def test_each_key_once_in_order_and_no_line_too_long() -> None:
    long = text("b.text", "", "word " * 60)
    rendered = render([long, DELAY, DELAY])
    assert list(tomllib.loads(rendered)) == ["b.text", "fetcher.server.delay"]
    assert max(map(len, rendered.splitlines())) <= 100
    assert all(line == line.rstrip() for line in rendered.splitlines())


def test_two_declarations_of_one_key_must_agree() -> None:
    assert distinct([DELAY, DELAY]) == [DELAY]
    other = duration("fetcher.server.delay", 6, "Pause between requests.", unit="s")
    with pytest.raises(ConfigError, match=r"fetcher\.server\.delay is declared twice"):
        distinct([DELAY, other])


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (True, "true"),
        (5.0, "5"),
        (0.5, "0.5"),
        (-1, "-1"),
        (1e300, "1e+300"),
        ('a "b" \\ ä', '"a \\"b\\" \\\\ ä"'),
        (("a", "b"), '["a", "b"]'),
        ((), "[]"),
    ],
)
def test_values_as_toml(value: object, wanted: str) -> None:
    assert toml(value) == wanted
    again = tomllib.loads(f"a = {wanted}")["a"]
    assert (tuple(again) if isinstance(again, list) else again) == value
