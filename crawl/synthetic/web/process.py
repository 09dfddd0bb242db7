"""A test server in a process of its own: started, asked and stopped over its pipes.

CommandReader and answers are lines of JSON. The child ends when its input does, so that it
cannot outlive whoever started it, not even one that was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any, BinaryIO, Self

from crawl.errors import EnvironmentFault, UsageError
from crawl.synthetic.web.log import LogEntry, read_entries

_PATIENCE_SECONDS = 10


class ServerProcess:
    """A server in a child process, as its parent sees it."""

    def __init__(self, module: str, settings: dict[str, Any]) -> None:
        """Runs the module; returns when its server listens."""
        # nameless: it goes when both sides have closed it, and outlives the child
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._child = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(settings), str(self._log.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            pass_fds=[self._log.fileno()],
        )
        try:
            self.started = self._read()
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._child.pid

    def is_alive(self) -> bool:
        """Whether the server runs."""
        return self._child.poll() is None

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps({"do": command, **arguments}).encode() + b"\n")
            self._child.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise EnvironmentFault("the test server has ended") from None
        return self._read()

    def log(self) -> bytes:
        """All that the server has logged; also after its end."""
        if self.is_alive():
            self.ask("flush")
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0)

    def requests(self) -> list[LogEntry]:
        """Every request so far, in the order in which their answers ended."""
        return list(read_entries(self.log()))

    def stop(self) -> None:
        """Ends the server, kindly, then by its process id; the log can still be asked for."""
        if self._child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()
        try:
            self._child.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _read(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise EnvironmentFault("the test server has ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise UsageError(answer["error"])
        return answer


def run_child(serve: Callable[[dict[str, Any], BinaryIO], None]) -> None:
    """The child's main: serves by the settings and the log that its command line names, until
    standard input ends. Ctrl-C is the parent's, and as many connections as the machine allows."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with os.fdopen(int(sys.argv[2]), "wb", buffering=1 << 16) as log:
        try:
            serve(json.loads(sys.argv[1]), log)
        except UsageError as error:
            send_to_parent({"error": str(error)})


def send_to_parent(answer: dict[str, Any]) -> None:
    """Writes the child's answer to its parent."""
    os.write(1, json.dumps(answer).encode() + b"\n")


class CommandReader:
    """Reads whole commands from the pieces that the child's pipe gives."""

    def __init__(self) -> None:
        self._buffer = b""

    def read(self) -> list[dict[str, Any]] | None:
        """The commands at hand; None when there will be no more."""
        data = os.read(0, 65_536)
        if not data:
            return None
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [json.loads(line) for line in lines]
