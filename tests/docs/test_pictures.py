"""The pictures are those that the script draws today, of text only."""

from __future__ import annotations

import importlib.util
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pictures"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_they_are_up_to_date(pictures: ModuleType) -> None:
    for name, drawn in pictures.PICTURES.items():
        stored = (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert stored == drawn(), f"{name}.svg is not of this source: ./scripts/docs pictures"


def test_they_are_svg_without_blobs(pictures: ModuleType) -> None:
    for drawn in pictures.PICTURES.values():
        root = ElementTree.fromstring(drawn())
        assert root.tag.endswith("svg")
        assert {each.tag.rpartition("}")[2] for each in root.iter()}.isdisjoint({"image", "script"})


def test_the_house_has_every_package(pictures: ModuleType) -> None:
    shown = pictures.house()
    packages = [init.parent.name for init in (ROOT / "crawl").glob("*/__init__.py")]
    assert len(packages) > 15
    assert [name for name in packages if not re.search(rf">{name}<", shown)] == []


def test_text_that_does_not_fit_is_refused(pictures: ModuleType) -> None:
    with pytest.raises(ValueError, match="too long"):
        pictures.text(0, 0, "a caption that is longer than its box", room=50)
