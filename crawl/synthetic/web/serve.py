"""`python -m crawl.synthetic.web.serve SETTINGS LOG`: the process that serves a web."""

from __future__ import annotations

import gc
import time
from typing import Any, BinaryIO

from crawl.synthetic.web.listen import listen
from crawl.synthetic.web.loop import WebLoop
from crawl.synthetic.web.process import CommandReader, run_child, send_to_parent
from crawl.synthetic.web.settings import Settings
from crawl.synthetic.web.web import Web


def serve(content: dict[str, Any], log: BinaryIO) -> None:
    """Serves until standard input ends."""
    settings = Settings.from_json(content)
    addresses = [f"127.0.0.{n}" for n in range(1, settings.addresses + 1)]
    listeners = listen(addresses, settings.port)
    port = listeners[0].getsockname()[1]
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
    run_child(serve)
