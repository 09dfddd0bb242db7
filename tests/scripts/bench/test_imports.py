"""The benchmarks are no package and run rarely: a name that has moved would be missed late."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[3] / "scripts" / "bench"


@pytest.mark.parametrize("script", sorted(BENCH.glob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_of_ours_is_there(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("crawl."):
            assert node.module is not None
            module = importlib.import_module(node.module)
            missing = [name.name for name in node.names if not _has(module, name.name)]
            assert not missing, f"{node.module} has no {missing}"


def _has(module: ModuleType, name: str) -> bool:
    if hasattr(module, name):
        return True
    try:
        importlib.import_module(f"{module.__name__}.{name}")
    except ImportError:
        return False
    return True
