"""How the nodes of the link graph are listed and gathered."""

from __future__ import annotations

from enum import StrEnum


class NodeValue(StrEnum):
    """What nodes are listed by."""

    INLINKS = "inlinks"
    OUTLINKS = "outlinks"
    SCORES = "scores"


class NodeGroup(StrEnum):
    """What nodes are gathered by."""

    HOST = "host"
    DOMAIN = "domain"


class Combine(StrEnum):
    """What is made of the values of a host's or domain's pages."""

    SUM = "sum"
    MAX = "max"


class ListFormat(StrEnum):
    """How a list is written."""

    TEXT = "text"
    JSON = "json"
    PARQUET = "parquet"
