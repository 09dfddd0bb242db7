from __future__ import annotations

import re
from pathlib import Path

import pytest

import crawl
from crawl.config import Property, properties
from crawl.config.properties import CORE

CONSTANTS = {name: value for name, value in vars(properties).items() if isinstance(value, Property)}
SOURCES = {
    path: path.read_text(encoding="utf-8")
    for path in Path(crawl.__file__).parent.rglob("*.py")
    if "config" not in path.relative_to(Path(crawl.__file__).parent).parts[:1]
}


def test_every_constant_is_in_the_list_once() -> None:
    assert len(CONSTANTS) == len(CORE)
    assert all(CORE[declared.name] is declared for declared in CONSTANTS.values())


@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_constant_is_named_after_its_key(constant: str) -> None:
    assert re.sub(r"[^a-z0-9]", "_", CONSTANTS[constant].name.lower()) == constant.lower()


@pytest.mark.parametrize("constant", CONSTANTS)
def test_every_property_is_read_somewhere(constant: str) -> None:
    """A key that nothing reads would be a promise that nobody keeps."""
    word = re.compile(rf"\b{constant}\b")
    assert any(word.search(source) for source in SOURCES.values())


@pytest.mark.parametrize("constant", CONSTANTS)
def test_what_it_is_fits_a_line_or_two_and_is_a_sentence(constant: str) -> None:
    about = CONSTANTS[constant].about
    assert about.endswith(".")
    assert len(about) < 160
