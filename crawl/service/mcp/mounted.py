"""The protocol over HTTP under a path of an application: each request by itself, without sessions,
answered as JSON.

The package `mcp` is loaded at the first request, as it takes a second that a service without agents
need not spend. Requests come through the gate of the application before they are here, and what a
tool asks goes through that of the service, with the sender's key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from crawl.errors import EnvironmentFault
from crawl.service.api.gate import Refused
from crawl.service.callers.access import Caller
from crawl.service.mcp.calling import Ask
from crawl.service.mcp.package import require_mcp


class MountedTools:
    """Answers requests of agents in the loop of the application's server."""

    def __init__(self, ask_of: Callable[[Request], Ask], max_body: int) -> None:
        """`ask_of`: who answers what the tools ask for a request."""
        self._ask_of = ask_of
        self._max_body = max_body
        self._starting: asyncio.Task[Any] | None = None
        self._running: asyncio.Task[None] | None = None

    async def answer(self, request: Request, caller: Caller) -> Response:
        """The answer to one message."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())
        try:
            handle = await asyncio.shield(self._starting)
        except EnvironmentFault as fault:
            raise Refused(501, "no_mcp", str(fault)) from None
        return _Forwarded(handle)

    async def _start(self) -> Any:
        """Has the package answer in this loop until it ends; what is to be given the requests."""
        await asyncio.get_running_loop().run_in_executor(None, require_mcp)
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from crawl.service.mcp.protocol import Context, server_of

        async def ask_of(context: Context) -> Ask:
            assert context.request is not None
            return self._ask_of(context.request)

        manager = StreamableHTTPSessionManager(
            server_of(ask_of),
            json_response=True,
            stateless=True,
            max_request_body_size=self._max_body,
        )
        is_ready = asyncio.Event()

        async def run() -> None:
            async with manager.run():
                is_ready.set()
                await asyncio.Event().wait()  # until the loop ends, which cancels what runs in it

        self._running = asyncio.get_running_loop().create_task(run())
        await is_ready.wait()
        return manager.handle_request


class _Forwarded(Response):
    """The answer that another application gives."""

    def __init__(self, handle: Any) -> None:
        super().__init__()
        self._handle = handle

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
            await send(message)

        await self._handle(scope, receive, send_on)
