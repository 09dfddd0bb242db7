"""How commands outside of a fetch send a request: by the configured protocols, politely."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from crawl.cli.common.output import remark
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.fetcher.drivers.protocols import Protocols, resolved_protocols
from crawl.fetcher.drivers.single import FetchEnvironment
from crawl.urls.parse import host_of

_SHOWN_PAUSE_SECONDS = 1.0


@contextmanager
def polite_requests(command: str, config: Config) -> Iterator[FetchEnvironment]:
    """The means to send requests; a pause of a second or more is announced on stderr."""

    def pausing(url: str, seconds: float) -> None:
        if seconds >= _SHOWN_PAUSE_SECONDS:
            remark(f"{command}: {host_of(url)} is asked again in {seconds:.0f} s")

    protocols = Protocols(resolved_protocols(config), config)
    try:
        yield FetchEnvironment(protocols.fetch, SystemClock(), time.sleep, pausing)
    finally:
        protocols.close()
