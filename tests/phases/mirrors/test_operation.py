"""mirrors as an operation: what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import crawl
from crawl.errors import UsageError


@pytest.mark.parametrize("bounds", [{"min_contents": 1}, {"min_agreement": 0.5}])
def test_bounds_that_cannot_be_meant(tmp_path: Path, bounds: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(bounds))}: expected"):
        crawl.open(tmp_path).mirrors(**bounds)
