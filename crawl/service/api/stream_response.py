"""An answer that goes on while something happens, and whose client may be gone any time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "X-Content-Type-Options": "nosniff",
}


class StreamResponse(StreamingResponse):
    """Whatever ends it, and also where it never began, `on_end` is called."""

    def __init__(
        self, parts: AsyncIterator[bytes], media_type: str, on_end: Callable[[], object]
    ) -> None:
        super().__init__(parts, media_type=media_type, headers=_HEADERS)
        self._parts = parts
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            stack.callback(self._on_end)
            if scope["method"] != "HEAD":
                await super().__call__(scope, receive, send)
                return
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            await send({"type": "http.response.body", "body": b""})
