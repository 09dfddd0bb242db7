"""The command `crawl` in a process that stays, and its JVM with it: most of the time of a small
command is its start. Every command opens a session of its own.

    python tests/airflow/warm_command.py SOCKET WORDS…    as `crawl WORDS…`, in any folder
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from multiprocessing.connection import Client, Listener
from pathlib import Path

_SERVE = "--serve"
_START_S = 300.0


@contextmanager
def warm_command(environment: Mapping[str, str]) -> Iterator[list[str]]:
    """The words of the program, for as long as this lasts; commands come one after the other."""
    with tempfile.TemporaryDirectory(prefix="warm-") as place:
        socket = Path(place, "socket")
        words = [sys.executable, __file__, str(socket)]
        with Path(place, "log").open("wb") as log:
            server = subprocess.Popen(
                [*words, _SERVE], env=dict(environment), stdout=log, stderr=log, cwd=place
            )
        try:
            yield words
            _ask(socket, None)
            server.wait(_START_S)
        finally:
            server.kill()
            server.wait()


def _ask(socket: Path, words: list[str] | None) -> tuple[int, str]:
    """The exit code of a command, and what it said; None for words ends the server."""
    deadline = time.monotonic() + _START_S
    while not socket.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    with Client(str(socket), "AF_UNIX") as line:
        line.send(words)
        code, said = line.recv() if words is not None else (0, "")
    return code, said


def _serve(socket: Path) -> None:
    from crawl.cli.main import main

    with Listener(str(socket), "AF_UNIX") as listener:
        while True:
            with listener.accept() as line:
                words = line.recv()
                if words is None:
                    return
                output, code = io.StringIO(), 0
                with redirect_stdout(output), redirect_stderr(output):
                    try:
                        main(words)
                    except SystemExit as ended:
                        code = int(ended.code or 0)
                line.send((code, output.getvalue()))


if __name__ == "__main__":
    place, *arguments = sys.argv[1:]
    if arguments == [_SERVE]:
        _serve(Path(place))
    else:
        exit_code, printed = _ask(Path(place), arguments)
        print(printed, end="")
        sys.exit(exit_code)
