"""`crawl mcp` as a process of its own, spoken to line by line."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from tests.service.mcp.loopback_web import SETTINGS

LONG_S = 120.0
_ROOT = Path(__file__).parents[3]


class AgentProcess:
    """A client that checks that nothing but messages comes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._numbers = itertools.count(1)
        self._lines: Queue[bytes | None] = Queue()
        self.notes: list[str] = []
        """What it said on stderr."""
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_notes, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def greet(self) -> Any:
        client = {"name": "test", "version": "1"}
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        answer = self.ask("initialize", asked)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """The result of a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def ask(self, method: str, parameters: Mapping[str, Any]) -> Any:
        """The whole message that answers."""
        number = self.send(method, parameters)
        while True:
            message = self.next_message()
            assert message is not None, f"it ended: {self.notes}"
            if message.get("id") == number:
                return message

    def send(self, method: str, parameters: Mapping[str, Any]) -> int:
        number = next(self._numbers)
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        return number

    def say(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def next_message(self) -> Any:
        """What comes next; None at the end. A line that is no message fails."""
        try:
            line = self._lines.get(timeout=LONG_S)
        except Empty:
            raise AssertionError(f"nothing came: {self.notes}") from None
        if line is None:
            return None
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def end(self) -> int:
        """Ends its input, and waits for it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(LONG_S)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_notes(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.notes.append(line.decode("utf-8", "replace"))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def agent_process(*words: str, key: str = "", **settings: str) -> Iterator[AgentProcess]:
    """`crawl mcp` with these words behind it."""
    declared = {**SETTINGS, **{name.replace("__", "."): each for name, each in settings.items()}}
    given = [f"-D{name}={value}" for name, value in declared.items()]
    inherited = {name: each for name, each in os.environ.items() if not name.startswith("NUTRIA")}
    process = subprocess.Popen(
        [sys.executable, "-m", "crawl", "mcp", *words, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**inherited, "PYTHONPATH": str(_ROOT), **({"NUTRIA_KEY": key} if key else {})},
    )
    agent = AgentProcess(process)
    try:
        yield agent
    finally:
        agent.close()
