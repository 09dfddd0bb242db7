"""README: short, and nothing in it that is not there. Its blocks are run in tests/docs."""

from __future__ import annotations

import re
from pathlib import Path

from crawl.operations.registry import OURS
from tests.docs.pages import blocks_of_page

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_it_is_read_in_one_sitting() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README.read_text(encoding="utf-8"))
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_of_it_is_ours() -> None:
    text = "".join(block.text for block in blocks_of_page(README) if block.is_shell)
    named = set(re.findall(r"scripts/crawl (\w+)", text))
    assert len(named) >= 6 and named <= set(OURS)


def test_the_five_lines_are_those_of_the_notebook_test() -> None:
    """tests/api/test_notebook.py runs them in a Jupyter kernel."""
    (shown,) = [block.text for block in blocks_of_page(README) if block.language == "python"]
    for call in ("import crawl", "crawl.open(", "web.inject(", "web.run(rounds=2)", "to_pandas()"):
        assert call in shown
