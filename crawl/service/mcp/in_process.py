"""Requests to the HTTP interface of this process, without a connection: through its gate, with the
key and the sender of the request that they are made for."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message
from starlette.types import Scope as ASGIScope

from crawl.clock import Clock
from crawl.errors import ServiceFault
from crawl.service.client.requests import Answer, Request, fault_of, result_of

_PASSED_ON = frozenset(
    (b"host", b"authorization", b"x-api-key", b"origin", b"sec-fetch-site", b"user-agent")
)
_MAX_ANSWER = 64 << 20


class InProcess:
    """Asks an application as whoever sent a request to it."""

    def __init__(self, app: ASGIApp, sender: ASGIScope, clock: Clock) -> None:
        self._app = app
        self._sender = sender
        self._clock = clock

    async def __call__(self, request: Request[Any]) -> Any:
        """Its result; raises ServiceFault for a refusal, which is not tried again: whoever asks
        is told how long to wait."""
        answer = await self._answer(request)
        fault = fault_of(answer, self._clock.now_ms())
        if fault is not None:
            raise fault
        return result_of(request, answer)

    async def _answer(self, request: Request[Any]) -> Answer:
        body = request.body or b""
        is_sent = False
        status, headers, content = 0, dict[str, str](), bytearray()

        async def receive() -> MutableMapping[str, Any]:
            nonlocal is_sent
            if is_sent:  # nobody leaves: whoever does not want the answer cancels all of it
                await asyncio.Event().wait()
            is_sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in message["headers"]
                }
            elif message["type"] == "http.response.body":
                content.extend(message.get("body", b""))
                if len(content) > _MAX_ANSWER:
                    raise ServiceFault(f"the answer has more than {_MAX_ANSWER:,} bytes")

        await self._app(self._scope(request, len(body)), receive, send)
        return Answer(status, headers, bytes(content))

    def _scope(self, request: Request[Any], length: int) -> dict[str, Any]:
        path, _, query = request.path.partition("?")
        passed = [each for each in self._sender["headers"] if each[0] in _PASSED_ON]
        own = [
            (name.lower().encode("latin-1"), text.encode("latin-1"))
            for name, text in request.headers.items()
        ]
        if length:
            own.append((b"content-length", str(length).encode()))
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": self._sender.get("scheme", "http"),
            "path": path,
            "raw_path": path.encode("ascii"),
            "root_path": "",
            "query_string": query.encode("ascii"),
            "headers": [*passed, *own],
            "client": self._sender.get("client"),
            "server": self._sender.get("server"),
            "state": {},
        }
