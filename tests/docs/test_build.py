"""The strict build: no broken link, no page that the menu forgets, a reference that is whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import crawl
from crawl.operations.registry import OURS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning would have ended the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--config-file", str(ROOT / "docs/mkdocs.yml"), "--site-dir", str(folder)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr.strip()
    return folder


def test_every_page_of_the_sources_is_built(site: Path) -> None:
    sources = {
        page.relative_to(ROOT / "docs/pages") for page in (ROOT / "docs/pages").rglob("*.md")
    }
    assert len(sources) > 15
    assert all((site / page.with_suffix(".html")).exists() for page in sources)


def test_the_reference_has_everything(site: Path) -> None:
    def page(name: str) -> str:
        return (site / "reference" / f"{name}.html").read_text(encoding="utf-8")

    commands = page("commands")
    assert all(f'id="crawl-{name}"' in commands for name in OURS)
    api = page("api")
    functions = [name for name in crawl.__all__ if name[0].islower()]
    assert functions and all(f'id="crawl{name}"' in api for name in functions)
    properties = page("properties")
    assert all(f'<a id="{each["key"]}"' in properties for each in crawl.list_properties())
    for name, wanted in {
        "plugins": ("urlfilter", "opic"),
        "tables": ("crawldb", "parse_text"),
        "metrics": ("nutria_round",),
        "exit-codes": ("NoSnapshot", "130"),
    }.items():
        assert all(word in page(name) for word in wanted), name


def test_nothing_of_this_machine_is_in_it(site: Path) -> None:
    """A default that names a folder of the builder would be there."""
    home = str(Path.home())
    pages = [
        page.name
        for page in site.rglob("*.html")
        if any(place in page.read_text(encoding="utf-8") for place in (str(ROOT), f"{home}/"))
    ]
    assert pages == []


def test_nothing_is_loaded_from_other_sites(site: Path) -> None:
    """The site can be read without a network."""
    page = (site / "index.html").read_text(encoding="utf-8")
    assert 'src="http' not in page and 'rel="stylesheet" href="http' not in page
