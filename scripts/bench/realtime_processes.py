"""The processes of the realtime benchmark: the web, the service, look-ups, and the stand-in."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from process_tree import memory_mib
from realtime_lookups import LookupResult, LookupTask

_HERE = Path(__file__).resolve().parent
_ENDS_WITHIN_S = 60.0
_SAMPLED_S = 1.0


@contextmanager
def process_with_port(script: str, *options: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """One that prints its port, while the block runs; it ends when its input does."""
    command = [sys.executable, str(_HERE / script), *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line.strip().isdigit():
            raise SystemExit(f"bench: {script} did not start")
        yield int(line), process
    finally:
        process.stdin.close()
        _end(process)
        process.stdout.close()


@contextmanager
def service(
    folder: Path, port: int, properties: Sequence[str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """`crawl serve`, ready, while the block runs."""
    command = [sys.executable, "-m", "crawl", "serve", str(folder), "--port", str(port)]
    command += [part for each in properties for part in ("-D", each)]
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        wait_until_ready("127.0.0.1", port, process)
        yield process
    except SystemExit as fault:
        end = log.read_text(errors="replace")[-2000:]
        raise SystemExit(f"{fault}\n{end}") from None
    finally:
        process.terminate()
        _end(process)


def wait_until_ready(
    host: str, port: int, process: subprocess.Popen[bytes] | None, seconds: float = 60.0
) -> None:
    """Until `/readyz` says so."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            raise SystemExit(f"bench: the service ended with exit code {process.returncode}")
        connection = http.client.HTTPConnection(host, port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.05)
    raise SystemExit(f"bench: the service is not ready after {seconds:.0f} s")


def place_of(address: str) -> tuple[str, int]:
    """Host and port of a service's address."""
    parts = urlsplit(address)
    if parts.scheme != "http" or not parts.hostname:
        raise SystemExit(f"bench: expected an address such as http://127.0.0.1:8199, got {address}")
    return parts.hostname, parts.port or 80


class Lookups:
    """The process that looks up."""

    def __init__(self, task: LookupTask) -> None:
        command = [sys.executable, str(_HERE / "realtime_lookups.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(task))
        self._process.stdin.close()
        self._process.stdin = None

    def result(self, seconds: float) -> LookupResult:
        """What it measured, once it is through."""
        said, _ = self._process.communicate(timeout=seconds)
        if self._process.returncode:
            raise SystemExit("bench: the look-ups broke off")
        return msgspec.json.decode(said, type=LookupResult)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


class MemoryWatch:
    """The most memory that a process and all below it held together in a block, and what they
    held when it began and ended."""

    def __init__(self, root: int | None) -> None:
        self._root = root
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.mib: list[float] = []
        """One figure a second."""

    def __enter__(self) -> MemoryWatch:
        if self._root is not None:
            self._thread.start()
        return self

    def __exit__(self, *fault: object) -> None:
        self._done.set()
        if self._root is not None:
            self._thread.join()

    def _watch(self) -> None:
        assert self._root is not None
        while True:
            self.mib.append(memory_mib(self._root))
            if self._done.wait(_SAMPLED_S):
                return


def _end(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
