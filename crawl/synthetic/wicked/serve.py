"""`python -m crawl.synthetic.wicked.serve SETTINGS LOG`: the process that is wicked."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterable
from typing import Any, BinaryIO

from crawl.synthetic.web.listen import listen
from crawl.synthetic.web.log import LogEntry, write_entry
from crawl.synthetic.web.process import CommandReader, run_child, send_to_parent
from crawl.synthetic.wicked.bombs import make_all
from crawl.synthetic.wicked.exchange import Exchange, Route, abort
from crawl.synthetic.wicked.routes import ADDRESSES, BY_NAME, HOSTS, ROUTES, find_route

RESET_ADDRESS = HOSTS["reset.wicked.test"][0]
DEAF_ADDRESS = HOSTS["deaf.wicked.test"][0]
_ROBOTS = b"User-agent: *\nDisallow:\n"
_WICKED_ROBOTS = "robots-"
_STUFFING = 4


class WickedHandler:
    """Answers every request with its route."""

    def __init__(self, port: int, log: BinaryIO) -> None:
        self._port = port
        self._log = log
        self._accepted = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection to its end."""
        self._accepted += 1
        number = self._accepted
        ip = writer.get_extra_info("sockname")[0]
        try:
            while await self._exchange(reader, writer, number, ip):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int, ip: str
    ) -> bool:
        first = await reader.readexactly(1)
        began = time.monotonic()
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *lines = head.rstrip("\r\n").split("\r\n")
        method, target, _ = (*line.split(" "), "", "")[:3]
        fields = (field.partition(":") for field in lines)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        host = headers.get("host", "wicked.test").partition(":")[0].lower()
        agent = headers.get("user-agent", "").replace("\t", " ")
        closing = headers.get("connection", "").lower() == "close"
        exchange = Exchange(reader, writer, method, target, host, self._port, agent, closing)
        whole = False
        try:
            await self._answer(exchange)
            whole = True
        finally:
            ended = exchange.sending if whole and exchange.sending else time.monotonic()
            entry = LogEntry(
                began=began,
                ended=ended,
                host=host,
                path=target.replace("\t", " "),
                ip=ip,
                connection=number,
                status=exchange.status if whole else 0,
                sent=exchange.sent,
                method=method,
                agent=agent,
            )
            self._log.write(write_entry(entry))
        return exchange.keep

    async def _answer(self, exchange: Exchange) -> None:
        label = exchange.host.partition(".")[0]
        route = find_route(exchange.path)
        if exchange.path == "/robots.txt" and label.startswith(_WICKED_ROBOTS):
            route = BY_NAME.get(label.removeprefix(_WICKED_ROBOTS))
        if route is not None:
            await route.serve(exchange)
        elif exchange.path == "/robots.txt":
            await exchange.page(_ROBOTS, keep=True)
        elif exchange.path == "/":
            await exchange.page(_index(ROUTES), keep=True)
        else:
            await exchange.page(b"", code=404, keep=True)


async def _reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    abort(writer)


def _index(routes: Iterable[Route]) -> bytes:
    items = "".join(f'<li><a href="{route.path}">{route.does}</a>\n' for route in routes)
    return (
        f"<html><head><title>Wicked</title></head><body><ul>\n{items}</ul></body></html>".encode()
    )


def _deafen(port: int) -> list[socket.socket]:
    """A listener that accepts nothing, stuffed until no further connection completes."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((DEAF_ADDRESS, port))
    listener.listen(0)
    stuffing = [socket.socket() for _ in range(_STUFFING)]
    for one in stuffing:
        one.setblocking(False)
        one.connect_ex((DEAF_ADDRESS, port))
    return [listener, *stuffing]


async def _serve(listeners: list[socket.socket], log: BinaryIO) -> None:
    port = listeners[0].getsockname()[1]
    wicked = WickedHandler(port, log)
    deaf_sockets = _deafen(port)
    for listener in listeners:
        resets = listener.getsockname()[0] == RESET_ADDRESS
        await asyncio.start_server(_reset if resets else wicked.converse, sock=listener)
    stopped = asyncio.Event()
    commands = CommandReader()

    def obey() -> None:
        asked = commands.read()
        if asked is None:
            stopped.set()
            asyncio.get_running_loop().remove_reader(0)
            return
        for _ in asked:
            log.flush()
            send_to_parent({})

    asyncio.get_running_loop().add_reader(0, obey)
    make_all()
    send_to_parent({"port": port})
    await stopped.wait()
    for one in deaf_sockets:
        one.close()
    # whatever waits, drips or repeats is ended here, and logged as cut
    waiting = asyncio.all_tasks() - {asyncio.current_task()}
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def serve(content: dict[str, Any], log: BinaryIO) -> None:
    """Is wicked until standard input ends."""
    asyncio.run(_serve(listen([*ADDRESSES, RESET_ADDRESS], content["port"]), log))


if __name__ == "__main__":
    run_child(serve)
