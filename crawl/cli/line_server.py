"""Checkers as servers: lines over TCP, each answered as a line of stdin would be.

The lines of all clients pass one queue and are answered one after the other on the main
thread. So checkers need no locks, every client gets its turn, and the hosts that are asked
see one polite visitor, however many clients there are.
"""

from __future__ import annotations

import io
import socket
import socketserver
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import click

from crawl.cli.output import remark
from crawl.cli.url_lines import stdin_lines
from crawl.errors import EnvironmentFault, UsageError
from crawl.operations.interrupt import sigterm_interrupts

MAX_LINE_BYTES = 1 << 16
MAX_CLIENTS = 64
LOOPBACK = "127.0.0.1"
PATIENCE_SECONDS = 300.0
_AT_ONCE = 1 << 16
_MIN_WAIT_SECONDS = 0.001
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen, and how patiently."""

    port: int
    """0: a free one."""
    address: str = LOOPBACK
    keep_open: bool = False
    """Whether a client may ask more than one line."""
    patience_seconds: float = PATIENCE_SECONDS
    """How long a client may take for its whole line, and to read the answer."""


@contextmanager
def incoming_urls(
    arguments: Sequence[str], *, from_stdin: bool, listen: Listen | None
) -> Iterator[Iterator[str]]:
    """The URLs of the command line, of stdin or of clients. What is printed before the next
    one is taken is the answer: it goes to whoever asked."""
    if (bool(arguments), from_stdin, listen is not None).count(True) != 1:
        raise UsageError("give either URLs or --stdin or --listen")
    if listen is None:
        yield stdin_lines()
        return
    with sigterm_interrupts(), started(listen) as server:
        try:
            with redirect_stdout(io.StringIO()) as printed:
                yield server.lines(printed)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(0) from None  # how else should a server end


@contextmanager
def started(listen: Listen) -> Iterator[LineServer]:
    """A server that takes in lines."""
    try:
        server = LineServer(listen)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise EnvironmentFault(f"cannot listen on {listen.address}:{listen.port}: {why}") from error
    with server:
        threading.Thread(target=server.serve_forever, name="listen", daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


class LineServer(socketserver.ThreadingTCPServer):
    """A thread for each client reads its lines and waits for the answers."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = MAX_CLIENTS

    def __init__(self, listen: Listen) -> None:
        self.address_family = socket.AF_INET6 if ":" in listen.address else socket.AF_INET
        self.keep_open = listen.keep_open
        self.patience_seconds = listen.patience_seconds
        self.room = threading.BoundedSemaphore(MAX_CLIENTS)
        self._asked: SimpleQueue[tuple[str, Future[bytes]]] = SimpleQueue()
        super().__init__((listen.address, listen.port), _Client)

    @property
    def name(self) -> str:
        address, port = self.socket.getsockname()[:2]
        return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

    def ask(self, line: bytes) -> bytes:
        """Waits for its turn and returns the answer."""
        answer: Future[bytes] = Future()
        self._asked.put((line.rstrip(b"\r\n").decode("utf-8", "replace"), answer))
        return answer.result()

    def lines(self, printed: io.StringIO) -> Iterator[str]:
        """Line by line of whoever asks; what was `printed` meanwhile is sent back."""
        remark(f"listening on {self.name}")  # not before all is ready
        while True:
            try:
                # not for longer: a Ctrl-C that another thread hears ends no wait of this one
                line, answer = self._asked.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
            yield line
            answer.set_result(printed.getvalue().encode("utf-8", "replace"))
            printed.seek(0)
            printed.truncate()


class _Client(socketserver.BaseRequestHandler):
    server: LineServer
    request: socket.socket

    def handle(self) -> None:
        if not self.server.room.acquire(blocking=False):
            return
        try:
            self._converse()
        except OSError:
            pass  # it went, or is too slow
        finally:
            self.server.room.release()

    def _converse(self) -> None:
        for line in self._lines():
            answer = self.server.ask(line)
            self.request.settimeout(self.server.patience_seconds)
            self.request.sendall(answer)
            if not self.server.keep_open:
                return

    def _lines(self) -> Iterator[bytes]:
        """Until the client has no more, or sends one without an end."""
        read = bytearray()
        while self._read_line(read):
            line, _, rest = read.partition(b"\n")
            yield bytes(line)
            read = rest

    def _read_line(self, read: bytearray) -> bool:
        """Adds to what was read until there is a line; False where there will be none."""
        # by then, and not from byte to byte: a slow drip keeps no place taken
        until = time.monotonic() + self.server.patience_seconds
        searched = 0
        while (end := read.find(b"\n", searched)) < 0 and len(read) <= MAX_LINE_BYTES:
            searched = len(read)
            self.request.settimeout(max(until - time.monotonic(), _MIN_WAIT_SECONDS))
            received = self.request.recv(_AT_ONCE)
            if not received:
                return bool(read)  # the last line needs no end
            read += received
        return 0 <= end <= MAX_LINE_BYTES
