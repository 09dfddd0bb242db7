"""A broker for the tests of a session, and a web."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.plugins.indexwriter.real_kafka import RealKafka, running_kafka
from tests.service.kafka.site import Role, Web, running_web


@pytest.fixture(scope="session")
def kafka() -> Iterator[RealKafka]:
    with running_kafka() as server:
        yield server


@pytest.fixture
def web() -> Iterator[Web]:
    with running_web() as server:
        yield server


StartRole = Callable[..., Role]


@pytest.fixture
def start_role(
    tmp_path: Path, kafka: RealKafka, request: pytest.FixtureRequest
) -> Iterator[StartRole]:
    """Starts roles of one service, with topics of their own; all end with the test."""
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("127.0.0.1 *.test\n")
    started: list[Role] = []

    def start(role: str, *properties: str, address: str = kafka.address) -> Role:
        given = [
            "http.agent.name=testbot",
            "http.filter.ipaddress.allow.private=true",
            f"http.resolver.hosts.file={hosts}",
            "fetcher.server.delay=0.3",
            f"service.kafka.servers={address}",
            f"service.kafka.prefix={prefix_of(request)}",
            "service.kafka.partitions=8",
            "service.segment.seconds=2",
            *properties,
        ]
        started.append(Role(tmp_path, role, given, f"{role}-{len(started)}"))
        return started[-1]

    yield start
    for each in started:
        each.end()
    for each in started:
        print(each.said)


def prefix_of(request: pytest.FixtureRequest) -> str:
    return f"t-{abs(hash(request.node.nodeid)) % 10**9}"
