"""docker/Dockerfile as data, and as a build without an engine.

`built` does what the file says in a scratch folder that stands for the image's root: COPY and
RUN, word by word, with absolute paths moved there. The base image is this machine: what
the stage `base` installs (Java, an init, a user) is not run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
BUILD_S = 1800.0
MOVED = re.compile(r"(?<![\w.])/(?:opt|source|var/lib|usr/local/bin|crawls|site|tmp/airflow)\b")


@dataclass(frozen=True)
class Copy:
    sources: tuple[str, ...]
    target: str
    stage: str | None
    """Where from; None: from the checkout."""


@dataclass
class Stage:
    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def values(self, instruction: str) -> list[str]:
        return [text for name, text in self.instructions if name == instruction]

    @property
    def copies(self) -> list[Copy]:
        return [_copy(text) for text in self.values("COPY")]

    @property
    def variables(self) -> dict[str, str]:
        """ENV, and the defaults of ARG."""
        arguments = [
            argument
            for name in ("ENV", "ARG")
            for text in self.values(name)
            for argument in _words(text)
        ]
        return dict(argument.split("=", 1) for argument in arguments if "=" in argument)


def _words(text: str) -> list[str]:
    return shlex.split(text)


def _copy(text: str) -> Copy:
    arguments = _words(text)
    stage = next((argument[7:] for argument in arguments if argument.startswith("--from=")), None)
    *sources, target = [argument for argument in arguments if not argument.startswith("--")]
    return Copy(tuple(sources), target, stage)


def stages() -> dict[str, Stage]:
    """The stages of the Dockerfile by name, in their order; the last one's name is empty."""
    text = (DOCKER / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found: dict[str, Stage] = {}
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, rest = line.strip().partition(" ")
        if name == "FROM":
            base, _, alias = rest.partition(" AS ")
            current = Stage(alias.strip(), base.strip())
            found[current.name] = current
        elif name:
            current.instructions.append((name, rest.strip()))
    return found


def chain(name: str) -> list[Stage]:
    """A stage and those that it stands on, the lowest first."""
    found = stages()
    standing: list[Stage] = []
    while name in found:
        standing.insert(0, found[name])
        name = found[name].base
    return standing


class Built:
    """What a stage would look like, below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def moved(self, text: str) -> str:
        """The image's absolute paths, as they are here."""
        return MOVED.sub(lambda found: f"{self.folder}{found.group()}", text)

    def path(self, inside: str) -> Path:
        return Path(self.moved(inside))

    def environment(self, name: str) -> dict[str, str]:
        """The environment of a process in a container of this stage, without the tester's own."""
        variables = {"PATH": f"{self.path('/usr/local/bin')}{os.pathsep}{_bare_path()}"}
        for stage in chain(name):
            for key, value in stage.variables.items():
                variables[key] = self.moved(value).replace("$PATH", variables["PATH"])
        keeps = {key: os.environ[key] for key in _NEEDED if key in os.environ}
        return {**keeps, "HOME": str(self.folder), **variables}

    def build(self, stage: Stage) -> None:
        folder = self.folder
        for name, text in stage.instructions:
            if name == "WORKDIR":
                folder = self.path(text)
                folder.mkdir(parents=True, exist_ok=True)
            elif name == "COPY" and (copy := _copy(text)).stage is None:
                self._copy(copy, folder)
            elif name == "RUN":
                self._run(text, folder, {**self.environment(stage.name), **_cached()})

    def _copy(self, copy: Copy, folder: Path) -> None:
        target = folder / self.moved(copy.target)
        into = copy.target.endswith("/") or copy.target == "."
        for source in copy.sources:
            place = target / Path(source).name if into and not (ROOT / source).is_dir() else target
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                left_out = shutil.ignore_patterns("__pycache__", "*.pyc")
                shutil.copytree(ROOT / source, place, ignore=left_out, dirs_exist_ok=True)
            else:
                shutil.copy2(ROOT / source, place)

    def _run(self, command: str, folder: Path, environment: dict[str, str]) -> None:
        done = subprocess.run(
            ["/bin/sh", "-c", self.moved(command)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BUILD_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


# what a package index may need to be reached
_NEEDED = ("LANG", "SSL_CERT_FILE", "PIP_CERT", "PIP_INDEX_URL", "HTTPS_PROXY", "https_proxy")


def _cached() -> dict[str, str]:
    """An image is not to hold pip's cache, but this machine's may spare a download."""
    usual = Path.home() / ".cache" / "pip"
    return {"PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR", str(usual)), "PIP_NO_CACHE_DIR": "0"}


def _bare_path() -> str:
    """PATH without this checkout's virtual environment."""
    ours = str(ROOT / ".venv")
    return os.pathsep.join(
        part for part in os.environ["PATH"].split(os.pathsep) if not part.startswith(ours)
    )
