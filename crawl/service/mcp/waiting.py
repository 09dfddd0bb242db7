"""Work that waits, in threads that nobody waits for at the end: an agent that leaves does not want
its answer any more, and its process is to end at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")
_AT_ONCE = 64
_room = threading.BoundedSemaphore(_AT_ONCE)
"""More calls than that wait for each other."""


async def in_thread(work: Callable[[], Result]) -> Result:
    """What the work returns or raises."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, fault: BaseException | None) -> None:
        if future.done():
            return
        if fault is not None:
            future.set_exception(fault)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: Result | None = None
        fault: BaseException | None = None
        try:
            with _room:
                result = work()
        except BaseException as error:
            fault = error
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=run, name="mcp-call", daemon=True).start()
    return await future
