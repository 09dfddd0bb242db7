"""One standalone cluster for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.standalone import Cluster, running_cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Whoever has it lose a worker adds one, and whoever adds one has it lose that again."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster
