"""The packages below Spark can be imported without it: shown in a fresh interpreter."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import crawl

UPSTAIRS = ("crawl.spark", "crawl.cli", "crawl.__main__")

IMPORT_AND_PRINT = """
import importlib, json, sys
for name in json.loads(sys.stdin.read()):
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def modules_below_spark() -> list[str]:
    found = (module.name for module in pkgutil.walk_packages(crawl.__path__, "crawl."))
    return [name for name in found if not name.startswith(UPSTAIRS)]


def loaded_after(script: str, stdin: str = "") -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", script], input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_lower_floors_import_without_spark() -> None:
    names = modules_below_spark()
    assert {"crawl.storage.snapshot", "crawl.rules.inject", "crawl.plugins.scoring.opic"} <= set(
        names
    )
    assert any(name.startswith("crawl.phases.generate.tasks.") for name in names)
    loaded = loaded_after(IMPORT_AND_PRINT, json.dumps(names))
    assert "pyarrow" in loaded
    assert loaded.isdisjoint({"pyspark", "py4j"})


def test_help_is_quick_because_it_imports_next_to_nothing() -> None:
    script = """
import json, sys
from crawl.cli.main import main
try:
    main(["--help"])
except SystemExit as ended:
    assert not ended.code, ended.code
print()
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
    loaded = loaded_after(script)
    assert "click" in loaded
    assert loaded.isdisjoint({"pyspark", "py4j", "pyarrow", "numpy", "fsspec", "duckdb"})


def test_every_package_says_what_it_is() -> None:
    root = Path(crawl.__file__).parent
    silent = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if not path.read_text(encoding="utf-8").lstrip().startswith('"""')
    ]
    assert silent == []
