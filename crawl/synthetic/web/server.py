"""A running synthetic web, as tests, benchmarks and `crawl testweb` hold it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crawl.synthetic.web.log import LogEntry, read_entries
from crawl.synthetic.web.process import ServerProcess
from crawl.synthetic.web.web import Web


class WebServer:
    """A web that is served on loopback by another process."""

    def __init__(self, web: Web) -> None:
        """Starts to serve; where the web's port is 0, on a free one."""
        self._process = ServerProcess("crawl.synthetic.web.serve", web.settings.as_json())
        self.web = web.at_port(self._process.started["port"])
        """The web as it is served, port and all."""

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    @property
    def port(self) -> int:
        """The port that all sites are on."""
        return self.web.settings.port

    def resolve(self, host: str) -> str:
        """The address of a host, for a crawler that is handed a resolver."""
        return self.web.address(host)

    def set_time(self, seconds: float) -> None:
        """Sets the web's own time, which begins at 0 and stands still."""
        self._process.ask("time", seconds=seconds)

    def warm(self) -> None:
        """Computes what it can keep (20,000 pages) beforehand: for measuring a fetcher, not us."""
        self._process.ask("warm")

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    def requests(self) -> list[LogEntry]:
        """Every request so far, in the order in which their answers ended."""
        return list(read_entries(self._process.log()))

    def stop(self) -> None:
        """Ends the process; the log can still be asked for."""
        self._process.stop()


@contextmanager
def running(web: Web) -> Iterator[WebServer]:
    """Serves the web while the block runs."""
    server = WebServer(web)
    try:
        yield server
    finally:
        server.stop()
