"""The active index writers: which plugins, their parameters, which documents they are given and
how fields are called there (conf/index-writers.toml)."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from crawl.config import Config
from crawl.did_you_mean import did_you_mean
from crawl.errors import ConfigError, CrawlError, PluginError
from crawl.interfaces.indexwriter import IndexWriter, ProbingIndexWriter
from crawl.interfaces.registry import ResolvedPlugin, resolve
from crawl.model.documents import FieldValue, IndexDocument
from crawl.phases.index.settings import INDEX_WRITERS, INDEX_WRITERS_FILE
from crawl.phases.index.tasks.expression import Expression

_KEYS = ("id", "plugin", "when", "parameters", "fields")
_FIELD_KEYS = ("copy", "rename", "remove")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_TAKEN_IDS = ("snapshots",)
"""Folders of the ledger, beside which the writers' are."""


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """How a writer's fields are called: copied first, then renamed, then removed."""

    copy: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    remove: frozenset[str] = frozenset()

    def mapped(self, document: IndexDocument) -> IndexDocument:
        """The document as the writer is given it."""
        if not self.copy and not self.rename and not self.remove:
            return document
        fields: dict[str, FieldValue] = {}
        for name, value in document.fields.items():
            for other in self.copy.get(name, ()):
                fields.setdefault(other, value)
            if name not in self.remove:
                fields[self.rename.get(name, name)] = value
        return replace(document, fields=fields)


@dataclass(frozen=True, slots=True)
class WriterSpec:
    """One active writer."""

    id: str
    plugin: ResolvedPlugin
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Passwords among them, which nobody is to see by chance."""
    when: Expression | None = None
    """The documents that it is given; None: all."""
    mapping: FieldMapping = field(default_factory=FieldMapping)

    def build(self, config: Config) -> IndexWriter:
        """The writer; raises ConfigError or PluginError."""
        plugin = self.plugin.load()
        try:
            built: IndexWriter = plugin(config, self.parameters)
            return built
        except ConfigError as error:
            raise ConfigError(f"index writer {self.id}: {error}") from error
        except CrawlError:
            raise
        except Exception as error:
            line = " ".join(str(error).split())
            raise PluginError(
                f"index writer {self.id} ({self.plugin.target}) cannot be built:"
                f" {type(error).__name__}: {line}"
            ) from error


def active_writers(config: Config, overrides: Mapping[str, str] | None = None) -> list[WriterSpec]:
    """The writers that `index.writers` names, in its order; `overrides` are parameters of all
    of them. Raises ConfigError or PluginError for what cannot be meant."""
    return [_with_parameters(spec, overrides or {}) for spec in _active(config)]


def checked_writers(config: Config, overrides: Mapping[str, str] | None) -> list[WriterSpec]:
    """The same, each of which can be built."""
    specs = active_writers(config, overrides)
    for spec in specs:
        spec.build(config)
    return specs


def writer_faults(config: Config, *, connect: bool = False) -> dict[str, str]:
    """What is wrong with each active writer, in one line by its id: what `crawl index` would end
    with before it begins. `connect`: servers are asked too, and nothing is made there."""
    faults: dict[str, str] = {}
    for spec in _active(config):
        try:
            writer = _with_parameters(spec, {}).build(config)
            if connect:
                probe = writer.probe if isinstance(writer, ProbingIndexWriter) else writer.check
                probe()
        except CrawlError as error:
            lead = f"index writer {spec.id}"
            line = str(error)
            faults[spec.id] = line if line.startswith(lead) else f"{lead}: {line}"
    return faults


def _active(config: Config) -> list[WriterSpec]:
    """The writers that `index.writers` names, with parameters as they stand in the file."""
    listed = {spec.id: spec for spec in _listed(config)}
    active: list[WriterSpec] = []
    for name in config[INDEX_WRITERS]:
        if name in {spec.id for spec in active}:
            raise ConfigError(f"{INDEX_WRITERS.name}: {name!r} is named twice")
        spec = listed.get(name)
        active.append(_by_plugin(name, listed) if spec is None else spec)
    if not active:
        raise ConfigError(f"{INDEX_WRITERS.name} names no index writer")
    return active


def _with_parameters(spec: WriterSpec, overrides: Mapping[str, str]) -> WriterSpec:
    parameters = _resolved({**spec.parameters, **overrides}, f"index writer {spec.id}")
    return replace(spec, parameters=parameters)


@dataclass(frozen=True, slots=True)
class NamedWriter:
    """A writer as the configuration names it: nothing of it is loaded, so that whoever only reads
    what it wrote needs neither its code nor its passwords."""

    id: str
    plugin: str
    path: object = None
    """Its parameter, if it has one."""
    is_active: bool = False


def named_writers(config: Config) -> list[NamedWriter]:
    """The active writers in their order, then the others of `index.writers.file`."""
    listed: dict[str, NamedWriter] = {}
    for table, where in _tables(config):
        plugin, identifier = _names(table, where)
        parameters = table.get("parameters")
        path = parameters.get("path") if isinstance(parameters, dict) else None
        listed[identifier] = NamedWriter(identifier, plugin, path)
    active: dict[str, NamedWriter] = {}
    for name in config[INDEX_WRITERS]:
        writer = listed.get(name) or NamedWriter(_safe_id(name, INDEX_WRITERS.name), name)
        active[writer.id] = replace(writer, is_active=True)
    return [*active.values(), *(each for each in listed.values() if each.id not in active)]


def resolved_path(writer: NamedWriter) -> str:
    """Where the configuration says that a writer's files are; empty: nowhere."""
    return str(_resolved(writer.path or "", f"index writer {writer.id}"))


def _resolved(value: Any, where: str) -> Any:
    """A parameter, or all of them, with the environment's values in place of `${NAME}`: of whoever
    starts the job, for its tasks may run where nobody has set anything."""
    if isinstance(value, list):
        return [_resolved(each, where) for each in value]
    if isinstance(value, dict):
        return {name: _resolved(each, where) for name, each in value.items()}
    if not isinstance(value, str):
        return value
    try:
        return _VARIABLE.sub(lambda match: os.environ[match[1]], value)
    except KeyError as error:
        name = error.args[0]
        raise ConfigError(f"{where}: the environment has no variable {name}") from None


def _by_plugin(name: str, listed: Iterable[str]) -> WriterSpec:
    try:
        (plugin,) = resolve("indexwriter", (name,))
    except PluginError as error:
        near = did_you_mean(name, listed)
        raise PluginError(
            f"{error}{near and f', or an id of {INDEX_WRITERS_FILE.name}{near}'}"
        ) from None
    return WriterSpec(_safe_id(plugin.name, INDEX_WRITERS.name), plugin)


def _listed(config: Config) -> list[WriterSpec]:
    specs = [_spec(table, where) for table, where in _tables(config)]
    ids = [spec.id for spec in specs]
    twice = next((each for each in ids if ids.count(each) > 1), None)
    if twice is not None:
        raise ConfigError(f"{config[INDEX_WRITERS_FILE]}: two writers are called {twice!r}")
    return specs


def _tables(config: Config) -> list[tuple[Mapping[str, Any], str]]:
    """The writers of `index.writers.file` as they stand there, each with its place for messages."""
    text = config.read(INDEX_WRITERS_FILE)
    origin = config[INDEX_WRITERS_FILE]
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{origin}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{origin}: it is nested too deeply") from None
    wrong = [name for name in content if name != "writer"]
    writers = content.get("writer", [])
    if wrong or not isinstance(writers, list):
        what = wrong[0] if wrong else "writer"
        raise ConfigError(f"{origin}: {what!r} is unknown: expected tables [[writer]]")
    places = [f"{origin}, writer {number}" for number in range(1, len(writers) + 1)]
    return [(_table(table, place), place) for table, place in zip(writers, places, strict=True)]


def _names(table: Mapping[str, Any], where: str) -> tuple[str, str]:
    """The plugin and the id of a writer."""
    name = table.get("plugin", table.get("id"))
    if not isinstance(name, str):
        raise ConfigError(f"{where}: it has no plugin")
    return name, _safe_id(table.get("id", name), where)


def _spec(table: Mapping[str, Any], where: str) -> WriterSpec:
    _check_keys(table, _KEYS, where)
    name, identifier = _names(table, where)
    where = f"{where} ({identifier})"
    parameters = _table(table.get("parameters", {}), f"{where}: parameters")
    when: str | None = _read(table.get("when"), str | None, f"{where}: when", "a text")
    try:
        (plugin,) = resolve("indexwriter", (name,))
    except PluginError as error:
        raise ConfigError(f"{where}: {error}") from None
    return WriterSpec(
        identifier,
        plugin,
        parameters,
        None if when is None else Expression.read(when, f"{where}: when"),
        _mapping(table.get("fields", {}), f"{where}: fields"),
    )


def _safe_id(name: object, where: str) -> str:
    """An id names a folder."""
    text = str(name).rpartition(":")[2].lower() if ":" in str(name) else str(name)
    if not text or text.startswith(".") or not set(text) <= _NAME_CHARACTERS:
        raise ConfigError(f"{where}: {text!r} is no id: small letters, digits, `-`, `_` and `.`")
    if text in _TAKEN_IDS:
        raise ConfigError(f"{where}: no writer can be called {text!r}: the ledger's folder is")
    return text


def _mapping(value: object, where: str) -> FieldMapping:
    table = _table(value, where)
    _check_keys(table, _FIELD_KEYS, where)
    copies: dict[str, tuple[str, ...]] = {}
    for name, targets in _table(table.get("copy", {}), f"{where}: copy").items():
        place = f"{where}: copy: {name}"
        names = _read(targets, str | tuple[str, ...], place, "a name or a list of names")
        copies[name] = (names,) if isinstance(names, str) else names
    renames = _table(table.get("rename", {}), f"{where}: rename")
    _read(renames, dict[str, str], f"{where}: rename", "names")
    _check_targets(renames.items(), f"{where}: rename")
    targets_of = [(name, target) for name, targets in copies.items() for target in targets]
    _check_targets(targets_of, f"{where}: copy")
    place, expected = f"{where}: remove", "a list of names"
    return FieldMapping(
        copies, renames, _read(table.get("remove", []), frozenset[str], place, expected)
    )


def _check_targets(pairs: Iterable[tuple[str, str]], where: str) -> None:
    """Raises ConfigError where a field is to be called nothing, or like another: one of the two
    would be lost."""
    sources: dict[str, str] = {}
    for source, target in pairs:
        if not target:
            raise ConfigError(f"{where}: {source}: expected a name")
        if target in sources:
            raise ConfigError(f"{where}: {sources[target]} and {source} are both {target!r} then")
        sources[target] = source


def _table(value: object, where: str) -> dict[str, Any]:
    table: dict[str, Any] = _read(value, dict[str, Any], where, "a table")
    return table


def _read(value: object, kind: Any, where: str, expected: str) -> Any:
    """A value of the file as one of this type."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise ConfigError(f"{where}: expected {expected}") from None


def _check_keys(table: Mapping[str, object], names: Iterable[str], where: str) -> None:
    for key in table:
        if key not in names:
            raise ConfigError(f"{where}: {key!r} is unknown{did_you_mean(key, names)}")
