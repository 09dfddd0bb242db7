"""The examples of the generated reference: those of `--help` are parsed with all their options,
those of the docstrings of the API are run, in the order of the page, on one crawl."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import crawl
from tests.docs.checking import check_commands
from tests.docs.pages import ROOT, Block, blocks_of
from tests.docs.synthetic_web import SyntheticWeb, serving, stand_ins

sys.path.insert(0, str(ROOT / "docs"))
from reference import PAGES
from reference.api import public_callables

BEFORE = {
    # the sitemaps have listed all pages, and the first round has fetched them
    "Crawl.run": 'web.inject(["https://example.org/more"])',
    "Crawl.simulate": "web.generate(add_days=60)",
    "Crawl.segment": "web.fetch()",
    "Crawl.mergelinkdb": '__import__("shutil").copytree("mycrawl", "crawl-2025")',
}
"""What has to be done before the example of a method can work."""

pytestmark = pytest.mark.exhaustive


def examples(page: str) -> list[Block]:
    return blocks_of(PAGES[page](), page)


def test_the_examples_of_help_are_command_lines() -> None:
    faults: list[str] = []
    blocks = [block for block in examples("commands") if block.language == "sh"]
    for block in blocks:
        faults += check_commands(block.text)
    assert len(blocks) > 20
    assert faults == []


def test_every_public_callable_has_an_example() -> None:
    documented = [name for name, each in public_callables() if ">>>" in (each.__doc__ or "")]
    missing = {name for name, _ in public_callables()} - set(documented)
    assert missing <= {"Crawl.close", "Crawl.segments"}


@pytest.mark.spark
@pytest.mark.slow(seconds=60)
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("spark")
def test_the_examples_of_the_api_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path / "site") as web:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setitem(os.environ, "CRAWL_CONF_DIR", str(web.conf))
        (tmp_path / "seeds.txt").write_text(f"{web.seeds[1]}\n")
        namespace: dict[str, object] = {"crawl": crawl}
        ran = [name for name, _ in public_callables() if _run_examples(name, namespace, web)]
    assert len(ran) > 25


def _run_examples(name: str, namespace: dict[str, object], web: SyntheticWeb) -> bool:
    """Runs the examples of one function or method; returns whether it has any."""
    function = dict(public_callables())[name]
    lines = [line.strip() for line in (function.__doc__ or "").splitlines()]
    typed = [line.removeprefix(">>> ") for line in lines if line.startswith(">>> ")]
    if typed and name in BEFORE:
        typed.insert(0, BEFORE[name])
    for line in typed:
        for url, stand_in in stand_ins(web).items():
            line = line.replace(url, stand_in)
        try:
            exec(compile(line, name, "exec"), namespace)
        except Exception as error:
            raise AssertionError(f"the example of {name} fails: {line}") from error
    return bool(typed)
