"""A real Redis on loopback, which can be killed and started again."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import redis

from tests.debian import installed
from tests.free_port import LOOPBACK, free_port

_LOOKS = 600
PASSWORD = "swordfish/of:redis@home"


class RealRedis:
    """A server that runs, unless it was killed."""

    def __init__(self, base: Path, *settings: str) -> None:
        self._base = base
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"redis://:swordfish%2Fof%3Aredis%40home@{LOOPBACK}:{self.port}/1?timeout=20"

    def start(self) -> None:
        """Returns when it answers."""
        assert self._process is None
        with (self._base / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(installed("redis-server", "redis-server"), "--port", str(self.port)),
                    *("--bind", LOOPBACK, "--dir", str(self._base), "--save", ""),
                    *("--requirepass", PASSWORD, *self._settings),
                ],
                stdout=log,
                stderr=log,
            )
        pause = Event()
        for _ in range(_LOOKS):
            assert self._process.poll() is None, (self._base / "log").read_text()[-2000:]
            try:
                self.client().ping()
            except redis.ConnectionError:
                pause.wait(0.1)
            else:
                return
        raise AssertionError("Redis does not get ready")

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def client(self) -> redis.Redis:
        return redis.Redis(host=LOOPBACK, port=self.port, db=1, password=PASSWORD)

    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


@contextmanager
def running_redis(*settings: str) -> Iterator[RealRedis]:
    """A server for the time of a block; nothing of it is left after."""
    with tempfile.TemporaryDirectory(prefix="redis-", ignore_cleanup_errors=True) as base:
        server = RealRedis(Path(base), *settings)
        try:
            server.start()
            yield server
        finally:
            server.kill()
