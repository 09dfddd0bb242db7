"""A module that declares properties is known to `declared.py`, or a plugin of ours."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import crawl
from crawl.config import __all__ as config_names
from crawl.config.properties import CORE
from crawl.declared import declared_properties

BUILDERS = {*config_names, "integer_or"} - {"load", "properties_in"}
DECLARATION = re.compile(rf'\b(?:{"|".join(sorted(BUILDERS))})\(\s*"([a-z][A-Za-z0-9-]*\.[^" ]+)"')


def test_every_property_that_a_module_declares_is_known_to_the_configuration() -> None:
    names = {*CORE, *(each.name for each in declared_properties())}
    files = {
        name: path.name
        for path in Path(crawl.__file__).parent.rglob("*.py")
        for name in DECLARATION.findall(path.read_text(encoding="utf-8"))
    }
    assert len(files) > 200
    assert {name: file for name, file in files.items() if name not in names} == {}


def test_every_property_that_is_declared_is_read_somewhere() -> None:
    """A key that nothing reads would be a promise that nobody keeps: the core's have a test of
    their own (tests/config/test_properties.py)."""
    paths = Path(crawl.__file__).parent.rglob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    words = Counter(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))
    constant = re.compile(
        rf"^([A-Z][A-Z0-9_]+)(?:: .*)? = (?:{'|'.join(sorted(BUILDERS))})\(", re.M
    )
    constants = constant.findall(text)
    assert len(constants) > 150
    assert [name for name in constants if words[name] < 2] == []
