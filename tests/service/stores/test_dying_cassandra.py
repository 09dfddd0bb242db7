from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.stores.dying_store import check_that_nothing_is_lost
from tests.service.stores.real_cassandra import RealCassandra

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=120)]


def test_a_node_that_is_killed_under_load_costs_nothing_that_was_acknowledged(
    tmp_path: Path, node: RealCassandra
) -> None:
    check_that_nothing_is_lost(tmp_path / "crawl", node)
