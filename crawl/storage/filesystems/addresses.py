"""Paths and URLs as text."""

from __future__ import annotations


def below(address: str, name: str) -> str:
    stem = address.rstrip("/")
    return address + name if is_root(stem) else f"{stem}/{name}"


def is_root(stem: str) -> bool:
    """Whether an address without its last slashes was `/`, `memory://` or the like."""
    return not stem or stem.endswith(":")
