"""Which service a role is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import UsageError
from crawl.service.api.http_limits import HttpLimits
from crawl.service.faces.role import Role
from crawl.service.service import Service
from crawl.service.service_stats import ServiceStats
from crawl.service.settings_kafka import KAFKA_SERVERS
from crawl.service.stores.store import Store
from crawl.service.telling.listeners import Listener
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


class ServedRole(Protocol):
    """A role with its HTTP interface; to be entered."""

    @property
    def service(self) -> RunningService: ...

    @property
    def limits(self) -> HttpLimits:
        """What its connections are under."""

    def announced(self, host: str, port: int) -> AbstractContextManager[None]:
        """Says on this machine where it is, while a block lasts."""

    @property
    def has_keys(self) -> bool:
        """Whether somebody may ask by a key."""

    def app(self) -> Any:
        """The application."""

    def __enter__(self) -> object: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class RunningService(Protocol):
    """What is asked of the service of every role."""

    @property
    def last_stats(self) -> ServiceStats:
        """How it was when it ended."""

    def stats(self) -> ServiceStats:
        """How it is."""

    def require_running(self) -> None:
        """Raises why it has ended by itself."""

    def close(self) -> None:
        """Lets go of what was opened, where it was never started."""


def serving(role: Role, crawl_dir: CrawlDir, config: Config, clock: Clock, bind: str) -> ServedRole:
    """A role, opened but not started."""
    if role is Role.FETCH:
        settings = kafka_settings_of(role, config)
        assert settings is not None
        from crawl.service.kafka.fetch_app import ServedFetch

        return ServedFetch(config, clock, settings)
    from crawl.service.faces.served_crawl import ServedCrawl

    make = maker_of(role, config)
    crawl_dir.require_writable()
    return ServedCrawl(crawl_dir, config, clock, bind, make)


def maker_of(role: Role, config: Config) -> Make:
    """What opens the service of a role."""
    settings = kafka_settings_of(role, config)
    if settings is None:
        return Service
    if role is Role.ALL:
        from crawl.service.kafka.embedded import EmbeddedWithKafka

        return partial(EmbeddedWithKafka, settings=settings)
    from crawl.service.kafka.split import IntakeService, LookupService

    return partial(IntakeService if role is Role.INTAKE else LookupService, settings=settings)
