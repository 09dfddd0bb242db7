"""Rule files by name: searched in the conf folders, then among the packaged defaults,
and remembered, so that an executor on another machine has what the driver read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from crawl.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Resource:
    """A rule file that was read."""

    text: str
    origin: str
    """Its path, for messages."""


def packaged() -> Traversable:
    """The folder of default rule files; in the source tree, a link to where people look for it."""
    return files("crawl") / "conf"


@dataclass(frozen=True, slots=True)
class Resources:
    """The conf folders, and what was read from them."""

    folders: tuple[Path, ...] = ()
    read: dict[str, Resource] = field(default_factory=dict)
    """By name as the property gives it; a memo that grows as files are asked for."""
    left_behind: frozenset[str] = frozenset()
    """After travelling: names that lay in the conf folders, unread, when it left. Such a
    file must not be replaced by the packaged default without a word."""

    def find(self, name: str, asked_by: str) -> Resource:
        """The file of that name; ConfigError says where it was looked for."""
        resource = self.read.get(name)
        if resource is None:
            resource = _load(self._search(name, asked_by), asked_by)
            self.read[name] = resource
        return resource

    def _search(self, name: str, asked_by: str) -> Traversable:
        if not name:
            raise ConfigError(f"{asked_by}: it is empty, but a rule file is needed")
        absolute = Path(name).is_absolute()
        for path in [Path(name)] if absolute else [folder / name for folder in self.folders]:
            if _is_file(path):
                return path
        if name in self.left_behind:
            raise ConfigError(
                f"{asked_by}: {name} lies in a conf folder that this machine does not have;"
                " read it before the configuration is sent to executors"
            )
        if absolute:
            raise ConfigError(f"{asked_by}: there is no file {name!r}")
        default = packaged() / name
        if _is_file(default):
            return default
        searched = ", ".join([*map(str, self.folders), "the packaged defaults"])
        here = Path(name).absolute()
        hint = f"; a file elsewhere is named by its whole path: {here}" if _is_file(here) else ""
        raise ConfigError(f"{asked_by}: no file {name!r} in {searched}{hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        unread = self.left_behind.union(_names(self.folders)) - self.read.keys()
        return Resources, (self.folders, dict(self.read), unread)


def _is_file(path: Traversable) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file system would take
        return False


def _names(folders: Iterable[Path]) -> Iterable[str]:
    for folder in folders:
        if folder.is_dir():
            yield from (path.name for path in folder.iterdir() if path.is_file())


def _load(path: Traversable, asked_by: str) -> Resource:
    try:
        return Resource(path.read_bytes().decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{asked_by}: {path} is not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise ConfigError(f"{asked_by}: {path} cannot be read: {error.strerror}") from None
