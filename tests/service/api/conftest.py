"""One service for all tests that do not need one of their own: a start takes a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.api.served import Running, running
from tests.service.api.small_site import SmallSite, small_site


@pytest.fixture(scope="package")
def site() -> Iterator[SmallSite]:
    with small_site() as each:
        yield each


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Open to whoever is on this machine, as by default."""
    with running(tmp_path_factory.mktemp("service"), "service.max.body=100000") as each:
        yield each


@pytest.fixture(scope="package")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """With the rules of addresses as they are by default, and impatient; it may deliver webhooks
    to loopback no more than anywhere."""
    settings = (
        "http.filter.ipaddress.allow.private=false",
        "service.http.timeout=1s",
        "service.http.connections=12",
        "service.http.streams=2",
    )
    with running(tmp_path_factory.mktemp("strict"), *settings) as each:
        yield each
