"""Servers that all tests of stores share: each is started when the first needs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.service.stores.real_cassandra import RealCassandra


@pytest.fixture(scope="session")
def node() -> Iterator[RealCassandra]:
    """A Cassandra of one node, which takes half a minute to start. Whoever kills it starts it
    again."""
    from tests.service.stores.real_cassandra import running_cassandra

    with running_cassandra() as node:
        yield node
