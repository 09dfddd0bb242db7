"""How the nodes of the link graph are listed and gathered."""

from __future__ import annotations

from enum import StrEnum


class NodeValue(StrEnum):
    """The value that nodes are listed by."""

    INLINKS = "inlinks"
    OUTLINKS = "outlinks"
    SCORES = "scores"


class NodeGroup(StrEnum):
    """The kind of group that nodes are gathered into."""

    HOST = "host"
    DOMAIN = "domain"


class Combine(StrEnum):
    """How the values of a host's or domain's pages become one."""

    SUM = "sum"
    MAX = "max"


class ListFormat(StrEnum):
    """How a list is written."""

    TEXT = "text"
    JSON = "json"
    PARQUET = "parquet"
