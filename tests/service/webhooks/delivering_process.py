"""A process that is killed: `python -m tests.service.webhooks.delivering_process STORE HOW URL`.

`store` puts events into the outbox, says so and waits; `deliver` delivers until it dies.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.service.stores.lmdb import LmdbStore
from crawl.service.webhooks.assembly import Webhooks
from crawl.service.webhooks.values import WebhookEvent

CONFIG = {
    "service.webhooks.allow.private": True,
    "service.webhooks.retry.first": "20ms",
    "service.webhooks.retry.factor": 1,
    "service.webhooks.poll": 0.02,
    "service.webhooks.lease": 1.0,
    "service.webhooks.threads": 4,
}


def main(store_path: str, how: str, count: str) -> None:
    clock = SystemClock()
    webhooks = Webhooks.of(Config.of(CONFIG), LmdbStore(Path(store_path), clock), clock)
    if how == "store":
        for number in range(int(count)):
            webhooks.outbox.add([WebhookEvent("finished", b'{"number":%d}' % number, owner="k")])
    else:
        webhooks.deliverer.start()
    print("done", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
