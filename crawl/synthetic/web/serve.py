"""`python -m crawl.synthetic.web.serve SETTINGS LOG`: the process that serves a web."""

from __future__ import annotations

import gc
import json
import os
import sys
import time

from crawl.errors import UsageError
from crawl.synthetic.web.listen import listen
from crawl.synthetic.web.loop import WebLoop
from crawl.synthetic.web.process import CommandReader, prepare_child, send_to_parent
from crawl.synthetic.web.settings import Settings
from crawl.synthetic.web.web import Web


def main(settings_json: str, log_number: str) -> None:
    """Serves until standard input ends."""
    prepare_child()
    try:
        settings = Settings.from_json(json.loads(settings_json))
        addresses = [f"127.0.0.{n}" for n in range(1, settings.addresses + 1)]
        listeners = listen(addresses, settings.port)
    except UsageError as error:
        send_to_parent({"error": str(error)})
        return
    port = listeners[0].getsockname()[1]
    with os.fdopen(int(log_number), "wb", buffering=1 << 16) as log:
        loop = WebLoop(Web(settings).at_port(port), listeners, log, time.monotonic)
        commands = CommandReader()

        def obey() -> None:
            asked = commands.read()
            if asked is None:
                loop.stop()
                return
            for command in asked:
                match command["do"]:
                    case "time":
                        loop.set_time(command["seconds"])
                    case "warm":
                        loop.warm()
                    case "flush":
                        log.flush()
                send_to_parent({})

        loop.watch(0, obey)
        # nothing here has cycles, and a collection in mid-burst would be measured
        gc.disable()
        send_to_parent({"port": port})
        loop.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
