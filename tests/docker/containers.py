"""Services of docker/compose.yaml as processes of this machine, on loopback.

A container is what `built` made of the Dockerfile; its command, environment and health check
are word by word those of the file. Names of services become 127.0.0.1, ports free ones.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.standalone import Daemon
from tests.docker.composition import services
from tests.docker.dockerfile import Built, stages
from tests.free_port import LOOPBACK

PATIENCE_S = 900.0
"""Airflow is four programs that start slowly, on a machine that many share."""


@dataclass(frozen=True)
class Container:
    """A service that was started."""

    built: Built
    service: dict[str, Any]
    ports: dict[str, int]
    """Those of the file, and what they are here."""
    environment: dict[str, str]
    daemon: Daemon

    def health(self) -> subprocess.CompletedProcess[str]:
        """What the engine would run every now and then."""
        _, *command = self.service["healthcheck"]["test"]
        return subprocess.run(
            [here(argument, self.built, self.ports) for argument in command],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def becomes_healthy(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (result := self.health()).returncode:
            assert self.daemon.process.poll() is None, self.daemon.log.read_text()[-4000:]
            assert time.monotonic() < deadline, (
                f"{result.stderr}{self.daemon.log.read_text()[-4000:]}"
            )
            time.sleep(1)


def here(word: str, built: Built, ports: dict[str, int]) -> str:
    """A word of the compose file, with the ports, hosts and paths of this machine."""
    for name in services():
        word = re.sub(rf"(?<=//){name}(?=:\d)|^{name}$", LOOPBACK, word)
    for inside, outside in ports.items():
        word = re.sub(rf"(?<=:){inside}\b|^{inside}$", str(outside), word)
    return built.moved(word)


def environment_of(
    name: str, stage: str, built: Built, ports: dict[str, int], **more: str
) -> dict[str, str]:
    own = services()[name].get("environment", {})
    return {
        **built.environment(stage),
        **{key: here(str(value), built, ports) for key, value in own.items()},
        # nothing is to be seen outside this machine
        "SPARK_LOCAL_IP": LOOPBACK,
        **more,
    }


@contextmanager
def started(
    name: str, stage: str, built: Built, ports: dict[str, int], folder: Path, **more: str
) -> Iterator[Container]:
    service = services()[name]
    _, _, *entry = service.get("entrypoint", ["tini", "--", *_own_entry(stage)])
    command = service.get("command", ["standalone"])
    environment = environment_of(name, stage, built, ports, **more)
    folder.mkdir()
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [here(word, built, ports) for word in [*entry, *command]],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    daemon = Daemon(process, log)
    try:
        yield Container(built, service, ports, environment, daemon)
    finally:
        daemon.kill()


def _own_entry(stage: str) -> list[str]:
    """The entry point of the image without its init."""
    (entry,) = stages()[stage].values("ENTRYPOINT")
    arguments = re.findall(r'"([^"]+)"', entry)
    return arguments[arguments.index("--") + 1 :]
