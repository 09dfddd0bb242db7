"""A real Redis on loopback, which can be killed and started again."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import redis

from tests.debian import installed
from tests.free_port import LOOPBACK, free_port

_LOOKS = 600
PASSWORD = "swordfish/of:redis@home"


class RealRedis:
    """A server that runs, unless it was killed."""

    def __init__(self, base: Path, *settings: str, is_secure: bool = False) -> None:
        self._base = base
        self._settings = settings
        self.authority = make_certificate(base) if is_secure else None
        """The file of the certificate to trust, of a server that speaks TLS alone."""
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        scheme, ca = (
            ("redis", "") if self.authority is None else ("rediss", f"&ca={self.authority}")
        )
        user = ":swordfish%2Fof%3Aredis%40home"
        return f"{scheme}://{user}@{LOOPBACK}:{self.port}/1?timeout=20{ca}"

    def start(self) -> None:
        """Returns when it answers."""
        assert self._process is None
        with (self._base / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(installed("redis-server", "redis-server"), *self._ports()),
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
        secure: dict[str, Any] = {}
        if self.authority is not None:
            secure = {"ssl": True, "ssl_ca_certs": str(self.authority)}
        return redis.Redis(host=LOOPBACK, port=self.port, db=1, password=PASSWORD, **secure)

    def _ports(self) -> list[str]:
        if self.authority is None:
            return ["--port", str(self.port)]
        return [
            *("--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no"),
            *(
                "--tls-cert-file",
                str(self.authority),
                "--tls-key-file",
                str(self._base / "key.pem"),
            ),
            *("--tls-ca-cert-file", str(self.authority)),
        ]

    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid


def make_certificate(folder: Path) -> Path:
    """A certificate of its own authority for this machine, with its key beside it."""
    path = folder / "certificate.pem"
    subprocess.run(
        [
            *(installed("openssl", "openssl"), "req", "-x509", "-newkey", "ec", "-nodes"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "3", "-subj", "/CN=tests"),
            *("-addext", f"subjectAltName=IP:{LOOPBACK}"),
            *("-keyout", str(folder / "key.pem"), "-out", str(path)),
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )
    return path


@contextmanager
def running_redis(*settings: str, is_secure: bool = False) -> Iterator[RealRedis]:
    """A server for the time of a block; nothing of it is left after."""
    with tempfile.TemporaryDirectory(prefix="redis-", ignore_cleanup_errors=True) as base:
        server = RealRedis(Path(base), *settings, is_secure=is_secure)
        try:
            server.start()
            yield server
        finally:
            server.kill()
