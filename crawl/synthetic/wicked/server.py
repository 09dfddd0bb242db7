"""A running wicked server, as tests and `crawl testweb --wicked` hold it."""

from __future__ import annotations

from hashlib import blake2b

from crawl.synthetic.web.process import ServerProcess
from crawl.synthetic.wicked.routes import ADDRESSES, BY_NAME, HOSTS


class WickedServer(ServerProcess):
    """A wicked server in another process."""

    def __init__(self, port: int = 0) -> None:
        """Starts to serve, on a free port by default."""
        super().__init__("crawl.synthetic.wicked.serve", {"port": port})
        self.port: int = self.started["port"]

    def url(self, name: str, host: str = "") -> str:
        """The URL of a route (`drip-body`) or of a wicked host; each route on its own host."""
        if name in HOSTS:
            return f"http://{name}:{self.port}/"
        route = BY_NAME[name]
        return f"http://{host or f'{name}.wicked.test'}:{self.port}{route.path}"

    def urls(self) -> dict[str, str]:
        """The name of every route and of every wicked host → its URL."""
        return {name: self.url(name) for name in (*BY_NAME, *HOSTS)}

    def hosts(self) -> list[str]:
        """The host of every route, and those that are wicked themselves."""
        return ["wicked.test", *HOSTS, *(f"{name}.wicked.test" for name in BY_NAME)]

    def resolve(self, host: str) -> str:
        """The address of a host, for a crawler that is handed a resolver."""
        if host in HOSTS:
            return HOSTS[host][0]
        number = int.from_bytes(blake2b(host.lower().encode(), digest_size=4).digest())
        return ADDRESSES[number % len(ADDRESSES)]


running_wicked = WickedServer
"""Is wicked while a block runs."""
