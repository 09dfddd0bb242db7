"""What is shipped; a package that setup.cfg misses is missing from every wheel."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages

from crawl.interfaces.registry import INTERFACES, available
from tests.installs import FROM_SOURCES, PRODUCT, absent_modules

ROOT = Path(__file__).parent.parent


def setup_cfg() -> ConfigParser:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_every_package_is_shipped() -> None:
    shipped = find_packages(
        str(ROOT), include=setup_cfg()["options.packages.find"]["include"].split(", ")
    )
    folders = {path.parent for path in (ROOT / "crawl").rglob("*.py")}
    found = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert set(shipped) == found | {"crawl.conf"}


def test_every_plugin_module_has_an_entry_point_that_is_installed() -> None:
    """An entry point is forgotten as easily, and an old installation does not know a new one."""
    groups = setup_cfg()["options.entry_points"]
    for interface in INTERFACES:
        declared = dict(
            line.split(" = ") for line in groups.get(interface.group, "").split("\n") if line
        )
        assert {
            name: plugin.target for name, plugin in available(interface.name).items()
        } == declared


def test_the_embedded_index_is_an_extra() -> None:
    config = setup_cfg()
    (tantivy,) = config["options.extras_require"]["search"].split()
    assert "tantivy" not in config["options"]["install_requires"]
    for extra in ("test", "bench"):  # which use it
        assert tantivy in config["options.extras_require"][extra].split("\n"), extra
    assert "tantivy" in absent_modules(frozenset((PRODUCT,)))
    assert "tantivy" not in absent_modules(frozenset((f"{PRODUCT}[search]",)))


def test_who_runs_from_the_sources_has_the_embedded_index() -> None:
    (extras,) = re.findall(r"^bootstrap (.+)$", (ROOT / "scripts/crawl").read_text(), re.MULTILINE)
    assert f"{PRODUCT}[{extras.replace(' ', ',')}]" == FROM_SOURCES
