"""The parts that the service can be split into."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a process of the service does."""

    ALL = "all"
    INTAKE = "intake"
    FETCH = "fetch"
    LOOKUP = "lookup"
