"""Which service a role is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import UsageError
from crawl.service.listeners import Listener
from crawl.service.role import Role
from crawl.service.service import Service
from crawl.service.settings_kafka import KAFKA_SERVERS
from crawl.service.stores.store import Store
from crawl.storage.crawl_dir import CrawlDir

if TYPE_CHECKING:
    from crawl.service.kafka.values import KafkaSettings

Make = Callable[[CrawlDir, Config, Clock, Callable[[Store], Sequence[Listener]]], Service]


def kafka_settings_of(role: Role, config: Config) -> KafkaSettings | None:
    """None for a service that is one process without Kafka; UsageError for a role that cannot be
    without."""
    if not config[KAFKA_SERVERS]:
        if role is not Role.ALL:
            raise UsageError(f"--role {role} needs Kafka: set {KAFKA_SERVERS.name}")
        return None
    from crawl.service.kafka.client import require_kafka
    from crawl.service.kafka.values import KafkaSettings

    require_kafka()
    return KafkaSettings.of(config)


def maker_of(role: Role, config: Config) -> Make:
    """What opens the service of a role."""
    settings = kafka_settings_of(role, config)
    if settings is None:
        return Service
    from crawl.service.kafka.embedded import EmbeddedWithKafka

    return partial(EmbeddedWithKafka, settings=settings)
