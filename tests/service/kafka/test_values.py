"""The settings of Kafka, and which of them cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import ConfigError, UsageError
from crawl.service.faces.role import Role
from crawl.service.faces.roles import kafka_settings_of, maker_of
from crawl.service.kafka.embedded import EmbeddedWithKafka
from crawl.service.kafka.fetching import FetchService
from crawl.service.kafka.split import IntakeService, LookupService
from crawl.service.kafka.values import KafkaSettings
from crawl.service.service import Service
from crawl.testing.clock import ManualClock


def config(**settings: object) -> Config:
    given = {"service.kafka.servers": ["127.0.0.1:1"]}
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return Config.of(given | named)


def test_without_brokers_it_is_one_process_and_no_other_role() -> None:
    assert kafka_settings_of(Role.ALL, Config()) is None
    assert maker_of(Role.ALL, Config()) is Service
    for role in (Role.INTAKE, Role.FETCH, Role.LOOKUP):
        with pytest.raises(
            UsageError, match=f"--role {role} needs Kafka: set service.kafka.servers"
        ):
            kafka_settings_of(role, Config())


def test_each_role_has_its_service() -> None:
    made = {role: maker_of(role, config()) for role in (Role.ALL, Role.INTAKE, Role.LOOKUP)}
    assert {role: each.func for role, each in made.items()} == {  # type: ignore[attr-defined]
        Role.ALL: EmbeddedWithKafka,
        Role.INTAKE: IntakeService,
        Role.LOOKUP: LookupService,
    }


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("service__kafka__prefix", "a b", "letters, digits"),
        ("service__kafka__prefix", "", "letters, digits"),
        ("service__kafka__margin", 3.0, "less than half of service.kafka.session"),
        ("service__kafka__properties", "/no/such/file", "cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_told(name: str, value: object, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        KafkaSettings.of(config(**{name: value}))


def test_further_properties_come_from_a_file_and_their_secrets_are_masked(tmp_path: Path) -> None:
    file = tmp_path / "client"
    file.write_text("# ours\n\nsecurity.protocol = SASL_SSL\nsasl.password=two=words-secret\n")
    settings = KafkaSettings.of(config(service__kafka__properties=str(file)))
    assert settings is not None
    assert settings.properties == {
        "security.protocol": "SASL_SSL",
        "sasl.password": "two=words-secret",
    }
    assert "words-secret" not in repr(settings)
    assert "words-secret" not in settings.mask.masked("failed with two=words-secret")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nothing", r"client:1: expected name=value"),
        ("acks=1", r"client:1: acks is the service's own to set"),
        ("partition.assignment.strategy=range", "the service's own to set"),
        ("session.timeout.ms=1", "the service's own to set"),
    ],
)
def test_what_would_lose_messages_or_give_a_domain_two_owners_cannot_be_set(
    tmp_path: Path, line: str, told: str
) -> None:
    file = tmp_path / "client"
    file.write_text(line)
    with pytest.raises(ConfigError, match=told):
        KafkaSettings.of(config(service__kafka__properties=str(file)))


def test_addresses_have_no_owner() -> None:
    settings = KafkaSettings.of(config())
    assert settings is not None
    with pytest.raises(ConfigError, match="fetcher.queue.mode"):
        FetchService(config(fetcher__queue__mode="byIP"), ManualClock(), settings)
