"""How many examples a property test tries, as a share of what the profile in use allows."""

from __future__ import annotations

from hypothesis import settings

_THOROUGH = 100
"""Examples of a test that names no number, in the profile that CI uses (tests/conftest.py)."""


def scaled(thorough: int) -> int:
    """The number of examples: `thorough` in the thorough profile, else the same share of it."""
    return max(1, thorough * settings().max_examples // _THOROUGH)
