"""Every command and snippet of README and docs/ is run against the synthetic web, or, where it
needs what a test has not, checked without being run."""

from __future__ import annotations

import ast
import os
import re
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import crawl
from crawl.interfaces.registry import INTERFACES
from crawl.operations.registry import GROUP
from crawl.parsing.fields.rule_file import read_rules
from tests.docs.checking import check_commands
from tests.docs.pages import LANGUAGES, PAGES, ROOT, Block, blocks_of_page
from tests.docs.running import Shell
from tests.docs.synthetic_web import SyntheticWeb, serving, stand_ins
from tests.installs import FROM_SOURCES, PRODUCT

pytestmark = pytest.mark.exhaustive

_HOST = re.compile(r"https?://([^/\s\"':`)>,\\]+)")
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyntheticWeb]:
    with serving(tmp_path_factory.mktemp("site")) as found:
        yield found


def shell_of(web: SyntheticWeb, folder: Path, page: str) -> Shell:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("CRAWL_")}
    return Shell(
        folder, {**inherited, "CRAWL_CONF_DIR": str(web.conf)}, stand_ins(web), installed_by(page)
    )


def installed_by(page: str) -> frozenset[str]:
    """The product, with what ./scripts/crawl brings along on pages that call it, and what the
    page's own lines install: `.[notebook]`, `datatrove[io]`."""
    text = (ROOT / page).read_text("utf-8")
    product = FROM_SOURCES if "./scripts/crawl " in text else PRODUCT
    found = re.findall(r"\bpip install '?([\w.,\[\]-]+)", text)
    return frozenset((product, *(re.sub(r"^\.(?=\[|$)", PRODUCT, each) for each in found)))


def run_of(name: str) -> list[Block]:
    found = blocks_of_page(ROOT / name)
    return [
        block
        for block in found
        if not block.not_run and (block.file or block.is_shell or block.language == "python")
    ]


@pytest.mark.spark
@pytest.mark.slow(seconds=120)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name in NAMES if run_of(name)])
@pytest.mark.usefixtures("spark")
def test_it_can_be_pasted(name: str, web: SyntheticWeb, tmp_path: Path) -> None:
    begun = time.monotonic()
    shell = shell_of(web, tmp_path, name)
    shell.run(run_of(name))
    assert not shell.faults, "\n".join([*shell.faults, shell.log[-3000:]])
    print(f"{name}: {time.monotonic() - begun:.1f} s")


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_run_is_checked(name: str, tmp_path: Path) -> None:
    faults: list[str] = []
    for block in blocks_of_page(ROOT / name):
        if block.not_run:
            if block.is_shell:
                faults += [f"{block.place}: {fault}" for fault in check_commands(block.commands())]
            elif block.language == "python":
                ast.parse(block.text, block.place)
            else:
                faults.append(f"{block.place}: {block.language} is never run")
        elif block.language == "toml":
            if block.file == "pyproject.toml":
                named = tomllib.loads(block.text)["project"]["entry-points"]
                assert set(named) <= {GROUP, *(each.group for each in INTERFACES)}, block.place
                continue
            if block.file.endswith("/fields.toml"):
                assert read_rules(block.text, block.file)
                continue
            (tmp_path / "crawl-site.toml").write_text(block.text)
            crawl.list_properties(conf=tmp_path)
    assert faults == []


@pytest.mark.parametrize("name", NAMES)
def test_every_block_is_of_a_kind_that_is_looked_at(name: str) -> None:
    for block in blocks_of_page(ROOT / name):
        assert block.language in LANGUAGES, f"{block.place}: language {block.language!r}"
        if block.language == "text":
            commands = re.findall(r"^(?:\$ |\./scripts/|crawl |pip |import )", block.text, re.M)
            assert not commands, f"{block.place}: a command that nobody runs"
        elif not block.not_run:
            hosts = set(_HOST.findall(block.commands() if block.is_shell else block.text))
            strange = {
                host for host in hosts if not re.search(r"(^|\.)example\.(org|com)$|^127\.", host)
            }
            assert not strange, f"{block.place}: names hosts of the real web: {strange}"


def test_most_blocks_are_run() -> None:
    """A mark before a block is for what needs a cluster, Docker or the network, and no more."""
    blocks = [block for name in NAMES for block in blocks_of_page(ROOT / name)]
    commands = [block for block in blocks if block.is_shell or block.language == "python"]
    left_out = [block for block in commands if block.not_run]
    assert len(commands) > 40 and len(left_out) < len(commands) / 3
