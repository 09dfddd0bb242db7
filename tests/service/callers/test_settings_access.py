from __future__ import annotations

import pytest

from crawl.config import Config, properties_in
from crawl.errors import ConfigError
from crawl.service.callers import settings_access
from crawl.service.callers.settings_access import (
    WEBHOOKS_RETRY_MOST,
    WEBHOOKS_THREADS,
    EventSettings,
    WebhookSettings,
)


def test_all_are_of_the_service_and_told() -> None:
    properties = properties_in(settings_access)
    names = [each.name for each in properties]
    assert len(set(names)) == len(names) > 30
    assert all(name.startswith("service.") for name in names)
    assert all(each.about.endswith(".") for each in properties)


def test_the_defaults_are_those_of_the_values() -> None:
    config = Config.of({})
    assert WebhookSettings.of(config) == WebhookSettings()
    assert EventSettings.of(config) == EventSettings()


def test_units() -> None:
    config = Config.of(
        {
            WEBHOOKS_RETRY_MOST.name: "90min",
            "service.webhooks.dead.keep": 2,
            "service.events.ring": 5,
        }
    )
    assert WebhookSettings.of(config).retry_most_s == 5_400
    assert WebhookSettings.of(config).dead_keep_s == 2 * 86_400
    assert EventSettings.of(config).ring == 5
    with pytest.raises(ConfigError, match="service.webhooks.threads"):
        Config.of({WEBHOOKS_THREADS.name: 0})[WEBHOOKS_THREADS]
