"""Writes the counts of quotas and keys now and then, and at the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from crawl.config import Config
from crawl.errors import CrawlError
from crawl.service.callers.keys import KeyRing
from crawl.service.callers.quota import Quotas
from crawl.service.callers.settings_access import QUOTA_FLUSH
from crawl.telemetry.repeating import repeating

_LOG = logging.getLogger(__name__)


@contextmanager
def counts_flushed(config: Config, quotas: Quotas, keys: KeyRing) -> Iterator[None]:
    """While this is open, and once more at its end, what has been counted is written. A store
    that cannot be reached is tried again the next time: the counts wait in memory."""

    def flush() -> None:
        for write in (quotas.flush, keys.flush):
            try:
                write()
            except (CrawlError, OSError) as error:
                _LOG.warning("counts of keys could not be written: %s", error)

    with repeating(flush, config[QUOTA_FLUSH], "count-flushing"):
        yield
