"""Builds the configuration from its layers: defaults, the site file, then `-D`.

Every key and value is checked here, before anything is started. The conf folder is, in
this order: `--conf`, CRAWL_CONF_DIR (a colon list; the first that has a file wins),
./conf where it holds a site file, or none: then the packaged defaults stand alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawl.config.config import SPARK_PREFIX, Config, RawValue
from crawl.config.nutch_names import nutch_replacement
from crawl.config.properties import CORE
from crawl.config.property import Property
from crawl.config.resources import Resources
from crawl.did_you_mean import did_you_mean
from crawl.errors import ConfigError
from crawl.masking import masked_setting

SITE_FILE = "crawl-site.toml"
CONF_DIR_VARIABLE = "CRAWL_CONF_DIR"
COMMAND_LINE_ORIGIN = "-D"
SETTINGS_ORIGIN = "settings"

_POSITION = re.compile(r" \(at (line \d+, column \d+|end of document)\)$")


class UnknownProperty(ConfigError):
    """A key that nobody declares."""


Extra = Callable[[], Iterable[Property[Any]]]
OfSetting = Callable[[str, object], Iterable[Property[Any]]]


def load(
    overrides: Iterable[str] = (),
    conf: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    extra: Extra = tuple,
    of_setting: OfSetting = lambda name, raw: (),
    working_folder: Path = Path(),
    settings: Mapping[str, object] | None = None,
) -> Config:
    """The configuration of a command; ConfigError names the one thing that is wrong.

    `settings` are a program's own, typed as in the site file, and stand above all others.
    `extra` gives the plugins' properties. It is called only where a key is not the
    core's, because it has to import every plugin. `of_setting` gives the properties that a
    setting, by its key and raw value, brings with it: those of a plugin that it names and
    that `extra` does not know. It is called only where a key is nobody else's.
    """
    place = _place(conf, environ or {}, working_folder)
    layers: list[tuple[str, RawValue]] = []
    if place.site is not None:
        origin = str(place.site)
        for name, value in _site_values(place.site).items():
            layers.append((name, RawValue(value, origin)))
    for override in overrides:
        name, text = _split(override)
        layers.append((name, RawValue(text, COMMAND_LINE_ORIGIN, is_text=True)))
    for name, value in (settings or {}).items():
        layers.append((name, RawValue(value, SETTINGS_ORIGIN)))
    declarations = _KnownProperties(
        extra, lambda: (each for name, raw in layers for each in of_setting(name, raw.raw))
    )
    raw_values = {name: _checked(name, raw, declarations) for name, raw in layers}
    return Config(raw_values, Resources(tuple(folder.absolute() for folder in place.folders)))


@dataclass(frozen=True, slots=True)
class _ConfigFolder:
    """Where the user's configuration lies."""

    folders: tuple[Path, ...] = ()
    site: Path | None = None


def _place(
    conf: str | Path | None, environ: Mapping[str, str], working_folder: Path
) -> _ConfigFolder:
    if conf is not None:
        path = working_folder / conf
        if path.is_file():
            return _ConfigFolder((path.parent,), path)
        return _searched([path], "--conf")
    listed = [entry for entry in environ.get(CONF_DIR_VARIABLE, "").split(":") if entry]
    if listed:
        return _searched([working_folder / entry for entry in listed], CONF_DIR_VARIABLE)
    usual = working_folder / "conf"
    if (usual / SITE_FILE).is_file():
        return _ConfigFolder((usual,), usual / SITE_FILE)
    return _ConfigFolder()


def _searched(folders: list[Path], named_by: str) -> _ConfigFolder:
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{named_by}: there is no folder {folder}")
    sites = (folder / SITE_FILE for folder in folders)
    return _ConfigFolder(tuple(folders), next((site for site in sites if site.is_file()), None))


class _KnownProperties:
    """The properties that exist; each source of others than the core's is asked at most once,
    and only where those before it do not know a key."""

    def __init__(self, *sources: Extra) -> None:
        self._sources = list(sources)
        self._by_name: dict[str, Property[Any]] = dict(CORE)

    def __getitem__(self, name: str) -> Property[Any] | None:
        while name not in self._by_name and self._sources:
            for declared in self._sources.pop(0)():
                self._by_name.setdefault(declared.name, declared)
        return self._by_name.get(name)

    def names(self) -> Iterable[str]:
        """Those of all sources that were asked; after a key that nobody knows, of all."""
        return self._by_name


def _checked(name: str, setting: RawValue, declarations: _KnownProperties) -> RawValue:
    """The setting with its declaration, once its value has proved to be of the kind."""
    if name.startswith(SPARK_PREFIX):
        if isinstance(setting.raw, dict | list):
            raise ConfigError(f"{name}: expected a text, got a list (from {setting.origin})")
        return setting
    declared = declarations[name]
    if declared is None:
        if replacement := nutch_replacement(name):
            raise ConfigError(
                f"{name!r} in {setting.origin} is a property of Nutch's and not of this crawler:"
                f" {replacement}"
            )
        hint = did_you_mean(name, declarations.names())
        raise UnknownProperty(f"unknown property {name!r}{hint} in {setting.origin}")
    setting.read_as(declared)
    return RawValue(setting.raw, setting.origin, setting.is_text, declared)


def _split(override: str) -> tuple[str, str]:
    name, equals, value = override.partition("=")
    if not equals or not name.strip():
        shown = masked_setting(override, override)
        raise ConfigError(f"-D {shown!r}: expected KEY=VALUE")
    return name.strip(), value


def _site_values(path: Path) -> dict[str, object]:
    """The site file with its keys written out: quoted, dotted and tables are the same."""
    try:
        tables = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        # also of integers beyond what Python reads, which are no TOMLDecodeError
        position = _POSITION.search(str(error))
        where = f"{path}, {position[1]}" if position else str(path)
        raise ConfigError(f"{where}: {_POSITION.sub('', str(error))}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    values: dict[str, object] = {}
    for name, value in _flatten(tables, ""):
        if name in values:
            raise ConfigError(f"{name} is set twice in {path}")
        values[name] = value
    return values


def _flatten(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
