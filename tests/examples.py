"""How many examples a property test tries, as a share of what the profile in use allows."""

from __future__ import annotations

from hypothesis import settings

_THOROUGH = 100
"""Examples of a test that names no number, in the profile that CI uses (tests/conftest.py)."""


def scaled(thorough: int) -> int:
    """As many as the thorough profile shall try, or the same share of them as of all others."""
    return max(1, thorough * settings().max_examples // _THOROUGH)
