"""setup.py finds what is shipped; a package that it misses is missing from every wheel."""

from __future__ import annotations

import contextlib
import runpy
from configparser import ConfigParser
from pathlib import Path
from unittest import mock

from crawl.interfaces.registry import INTERFACES, available

ROOT = Path(__file__).parent.parent


def setup_cfg() -> ConfigParser:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_every_package_is_shipped() -> None:
    with mock.patch("setuptools.setup") as setup, contextlib.chdir(ROOT):
        runpy.run_path(str(ROOT / "setup.py"))
    folders = {path.parent for path in (ROOT / "crawl").rglob("*.py")}
    found = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert set(setup.call_args.kwargs["packages"]) == found | {"crawl.conf"}


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
