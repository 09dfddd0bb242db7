"""A command's stdin, for tests."""

from __future__ import annotations

import io

import pytest


def type_in(monkeypatch: pytest.MonkeyPatch, typed: bytes) -> None:
    """Has the next command find these bytes on its stdin."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed)))
