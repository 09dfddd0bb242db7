"""When a delivery that failed is tried again."""

from __future__ import annotations

from collections.abc import Callable

from crawl.service.callers.settings_access import WebhookSettings

Chance = Callable[[], float]
"""A number from 0 to 1, by chance."""


def retry_wait(
    settings: WebhookSettings, attempts: int, asked_seconds: float | None, chance: Chance
) -> float:
    """Seconds until the next attempt after so many, each wait longer than the one before; what
    the endpoint itself asked for with Retry-After is waited for at least, up to the longest
    wait. By chance a quarter is added or left out, so that what failed together does not come
    back together."""
    exponent = min(attempts - 1, 64)
    most = settings.retry_most_s
    try:
        wait = min(most, settings.retry_first_s * settings.retry_factor**exponent)
    except OverflowError:
        wait = most
    wait *= 0.75 + 0.5 * chance()
    return max(wait, min(asked_seconds or 0.0, most))
