"""What the roles need to know of Kafka: where it is, and what its topics are called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.masking import secrets_of_settings
from crawl.net.secret_mask import SecretMask
from crawl.service.settings_kafka import (
    KAFKA_MARGIN,
    KAFKA_MESSAGE_BYTES,
    KAFKA_OWNED,
    KAFKA_PARTITIONS,
    KAFKA_PREFIX,
    KAFKA_PROPERTIES,
    KAFKA_REPLICATION,
    KAFKA_RETENTION,
    KAFKA_SERVERS,
    KAFKA_SESSION,
    KAFKA_TIMEOUT,
)

_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,200}")
_OWN = frozenset(
    (
        *("bootstrap.servers", "metadata.broker.list", "group.id", "acks", "enable.idempotence"),
        *("request.required.acks", "enable.auto.commit", "session.timeout.ms", "group.protocol"),
        *("partition.assignment.strategy", "message.timeout.ms", "delivery.timeout.ms"),
        *("enable.auto.offset.store", "group.instance.id", "partitioner"),
    )
)
"""Properties on which it rests that nothing is lost and every domain has one owner."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The names of the topics."""

    prefix: str

    @property
    def wishes(self) -> str:
        """URLs that outsiders want to have fetched, as JSON."""
        return f"{self.prefix}.wishes"

    @property
    def refused(self) -> str:
        """Wishes that were not taken on, with the reason."""
        return f"{self.prefix}.refused"

    @property
    def jobs(self) -> str:
        """What is to be fetched; a partition is the right to ask its domains."""
        return f"{self.prefix}.jobs"

    @property
    def results(self) -> str:
        """What was fetched, and for which jobs."""
        return f"{self.prefix}.results"

    @property
    def finished(self) -> str:
        """What became of jobs, as JSON, for everybody."""
        return f"{self.prefix}.finished"

    @property
    def hosts(self) -> str:
        """What servers are owed by whoever asks them next; compacted, as many partitions as
        the jobs have."""
        return f"{self.prefix}.hosts"


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """The settings, checked."""

    servers: str
    topics: Topics
    partitions: int
    replication: int
    retention_s: float
    session_s: float
    margin_s: float
    timeout_s: float
    owned: int
    message_bytes: int
    properties: Mapping[str, str] = field(repr=False)
    mask: SecretMask = field(repr=False)

    @classmethod
    def of(cls, config: Config) -> KafkaSettings | None:
        """None where there is no Kafka; ConfigError where it cannot be meant."""
        servers: tuple[str, ...] = config[KAFKA_SERVERS]
        if not servers:
            return None
        prefix: str = config[KAFKA_PREFIX]
        if not _PREFIX.fullmatch(prefix):
            raise ConfigError(
                f"{KAFKA_PREFIX.name}: expected letters, digits, `.`, `_` and `-`, got {prefix!r}"
            )
        session_s, margin_s = config[KAFKA_SESSION], config[KAFKA_MARGIN]
        if margin_s >= session_s / 2:
            raise ConfigError(
                f"{KAFKA_MARGIN.name} is {margin_s:g} s: it must be less than half of"
                f" {KAFKA_SESSION.name}, {session_s:g} s"
            )
        properties = _properties(config[KAFKA_PROPERTIES])
        return cls(
            ",".join(servers),
            Topics(prefix),
            config[KAFKA_PARTITIONS],
            config[KAFKA_REPLICATION],
            config[KAFKA_RETENTION],
            session_s,
            margin_s,
            config[KAFKA_TIMEOUT],
            config[KAFKA_OWNED],
            config[KAFKA_MESSAGE_BYTES],
            properties,
            SecretMask(secrets_of_settings(properties)),
        )


def _properties(name: str) -> dict[str, str]:
    """Those of the file; its values are in no message, as some are secrets."""
    if not name:
        return {}
    try:
        lines = Path(name).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{KAFKA_PROPERTIES.name}: {name} cannot be read: {error}") from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"{name}:{number}: expected name=value")
        if key in _OWN:
            raise ConfigError(f"{name}:{number}: {key} is the service's own to set")
        found[key] = value.strip()
    return found
