"""A running synthetic web, as tests, benchmarks and `crawl testweb` hold it."""

from __future__ import annotations

from crawl.synthetic.web.process import ServerProcess
from crawl.synthetic.web.web import Web


class WebServer(ServerProcess):
    """A web that is served on loopback by another process."""

    def __init__(self, web: Web) -> None:
        """Starts to serve; where the web's port is 0, on a free one."""
        super().__init__("crawl.synthetic.web.serve", web.settings.as_json())
        self.web = web.at_port(self.started["port"])
        """The web as it is served, port and all."""

    @property
    def port(self) -> int:
        """The port that all sites are on."""
        return self.web.settings.port

    def resolve(self, host: str) -> str:
        """The address of a host, for a crawler that is handed a resolver."""
        return self.web.address(host)

    def set_time(self, seconds: float) -> None:
        """Sets the web's own time, which begins at 0 and stands still."""
        self.ask("time", seconds=seconds)

    def warm(self) -> None:
        """Computes what it can keep (20,000 pages) beforehand: for measuring a fetcher, not us."""
        self.ask("warm")


running = WebServer
"""Serves the web while a block runs."""
