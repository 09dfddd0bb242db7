"""The protocol over stdin and stdout: a line is a message.

Descriptor 1 is for messages alone. It is kept aside at the beginning and stands for stderr from
then on, so that nothing else that is printed, here or by a child, gets between them. Both ends are
served by threads that nobody waits for, as a read of a pipe cannot be ended and a client that reads
no more must not hold up our end.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, cast

import anyio
import msgspec

from crawl.service.mcp.arguments import MAX_WAIT_S
from crawl.service.mcp.calling import Ask

_MAX_LINE = 8 << 20
_BLOCK = 1 << 16
_WAITING_LINES = 100
_LOOK_S = 0.1
_ANSWERS_S = MAX_WAIT_S + 15.0
"""So long calls that are under way may take when the client has said its last word."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Descriptors of messages."""

    read: int
    write: int


def taken_ends() -> Ends:
    """Those of this process, which have only messages from now on."""
    sys.stdout.flush()
    ends = Ends(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return ends


def serve(ends: Ends, ask: Ask, is_asked_to_end: Callable[[], bool]) -> None:
    """Answers until the client ends its input, or is gone, or we are asked to end."""
    anyio.run(_serve, ends, ask, is_asked_to_end)


async def _serve(ends: Ends, ask: Ask, is_asked_to_end: Callable[[], bool]) -> None:
    from mcp.server.stdio import stdio_server

    from crawl.service.mcp.protocol import Context, server_of

    async def ask_of(context: Context) -> Ask:
        return ask

    server = server_of(ask_of)
    calls = _Calls()
    writer = _Writer(ends.write, calls)
    files = cast("Any", _Lines(ends.read, calls)), cast("Any", writer)

    async def end_when_asked(scope: anyio.CancelScope) -> None:
        while not (is_asked_to_end() or writer.is_gone):
            await anyio.sleep(_LOOK_S)
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(end_when_asked, group.cancel_scope)
        async with stdio_server(*files) as (messages, answers):
            await server.run(messages, answers, server.create_initialization_options())
        group.cancel_scope.cancel()


class _Calls:
    """Requests that came and are not answered yet."""

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._is_answered = asyncio.Event()

    def came(self, line: str) -> None:
        if (number := _number(line, is_request=True)) is not None:
            self._waiting.add(number)

    def answered(self, line: str) -> None:
        if self._waiting and (number := _number(line, is_request=False)) is not None:
            self._waiting.discard(number)
            self._is_answered.set()

    async def all_answered(self, seconds: float) -> None:
        """Returns when all are, or after so long: what is cancelled has no answer."""
        with anyio.move_on_after(seconds):
            while self._waiting:
                self._is_answered.clear()
                await self._is_answered.wait()


def _number(line: str, *, is_request: bool) -> str | None:
    """The id of a message, if it is such a one."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(message, dict) or ("method" in message) is not is_request:
        return None
    return None if message.get("id") is None else repr(message["id"])


class _Lines:
    """Lines of a descriptor, to be iterated. They end when all that was asked is answered: whoever
    pipes some calls into us has no more to say, and wants to be told all the same."""

    def __init__(self, descriptor: int, calls: _Calls) -> None:
        self._descriptor = descriptor
        self._calls = calls

    async def __aiter__(self) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str | None] = asyncio.Queue(_WAITING_LINES)

        def put(line: str | None) -> None:
            # waits where the client is faster than we are
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

        def read() -> None:
            try:
                for line in _lines_of(self._descriptor):
                    put(line)
                put(None)
            except RuntimeError:  # the loop has ended
                return

        threading.Thread(target=read, name="mcp-stdin", daemon=True).start()
        while (line := await lines.get()) is not None:
            self._calls.came(line)
            yield line
        await self._calls.all_answered(_ANSWERS_S)


def _lines_of(descriptor: int) -> Any:
    """Lines as text; of one that is too long a beginning, which is no message."""
    waiting = bytearray()
    while True:
        try:
            block = os.read(descriptor, _BLOCK)
        except OSError:
            block = b""
        if not block:
            if waiting:
                yield waiting[:_MAX_LINE].decode("utf-8", "replace")
            return
        *whole, rest = block.split(b"\n")
        for each in whole:
            waiting += each
            if waiting.strip():
                yield waiting[:_MAX_LINE].decode("utf-8", "replace")
            waiting.clear()
        if len(waiting) <= _MAX_LINE:
            waiting += rest


class _Writer:
    """Writes lines to a descriptor, in their order."""

    def __init__(self, descriptor: int, calls: _Calls) -> None:
        self._descriptor = descriptor
        self._calls = calls
        self._waiting: SimpleQueue[tuple[bytes, Callable[[], object]]] = SimpleQueue()
        self.is_gone = False
        """Whether nobody reads any more."""
        threading.Thread(target=self._run, name="mcp-stdout", daemon=True).start()

    async def write(self, text: str) -> None:
        """Returns when it is written, or nobody will read it."""
        loop, is_written = asyncio.get_running_loop(), asyncio.Event()
        if not self.is_gone:
            done = loop.call_soon_threadsafe
            self._waiting.put((text.encode("utf-8", "replace"), lambda: done(is_written.set)))
            await is_written.wait()
        self._calls.answered(text)

    async def flush(self) -> None:
        """Nothing is held back."""

    def _run(self) -> None:
        while True:
            content, tell = self._waiting.get()
            try:
                while content and not self.is_gone:
                    content = content[os.write(self._descriptor, content) :]
            except OSError:
                self.is_gone = True
            try:
                tell()
            except RuntimeError:  # the loop has ended
                return
