"""docker/compose.yaml as data, with its variables put in as compose does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from tests.docker.dockerfile import DOCKER

COMPOSE = DOCKER / "compose.yaml"
EXAMPLE = DOCKER / ".env.example"
SECRETS = {"S3_ACCESS_KEY": "key", "S3_SECRET_KEY": "secret", "GRAFANA_PASSWORD": "word"}
"""As somebody who fills in the example might."""
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def variables() -> dict[str, tuple[str, str]]:
    """The variables that the file asks for: by name, `-` or `?`, and the text behind."""
    found = _VARIABLE.finditer(COMPOSE.read_text())
    return {each[1]: (each[2] or "", each[3] or "") for each in found}


def composed(values: Mapping[str, str] = SECRETS) -> dict[str, Any]:
    """The file with these values; a string stays one, whatever is put in."""

    def value_of(found: re.Match[str]) -> str:
        name, kind, text = found.groups()
        if name not in values and kind != "-":
            raise KeyError(f"{name}: {text}")
        return values.get(name) or text

    def filled(tree: Any) -> Any:
        match tree:
            case dict():
                return {key: filled(value) for key, value in tree.items()}
            case list():
                return [filled(each) for each in tree]
            case str():
                return _VARIABLE.sub(value_of, tree)
        return tree

    whole: dict[str, Any] = filled(_loaded())
    return whole


@cache
def _loaded() -> Any:
    return yaml.safe_load(COMPOSE.read_text())


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = composed()["services"]
    return found


def mounts(service: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """Source (empty: a volume without a name), target, and whether it is read-only."""
    found = []
    for mount in service.get("volumes", []):
        if isinstance(mount, str):
            source, target, *rest = mount.split(":")
            found.append((source, target, rest == ["ro"]))
        else:
            found.append((mount.get("source", ""), mount["target"], mount.get("read_only", False)))
    return found


def is_bind(source: str) -> bool:
    return source.startswith((".", "/"))
