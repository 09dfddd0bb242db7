"""Raised and lowered text as characters: `x²` and `H₂O`, for `x2` says something else."""

from __future__ import annotations

import re

_SIGNS = "0123456789+-−=()"
RAISED = str.maketrans(f"{_SIGNS}ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
LOWERED = str.maketrans(f"{_SIGNS}aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_ALL_RAISED = frozenset(map(chr, RAISED))
_ALL_LOWERED = frozenset(map(chr, LOWERED))
_LONGEST = 60
"""Characters of what is taken for an exponent or an index; longer ones are text."""
_WORD = re.compile(r"[\w.]")
_ORDINAL = re.compile(r"[^\W\d_]{1,3}\.?")
"""`1st`, `2e`, `3er`: the letters are only set higher."""
_NOTE = re.compile(r"\[.*\]|\(.*\)|\W+|TM|SM|[Rr]ef\.?|MC")
"""Notes and marks of trade, which say as much on the line."""


def raised(text: str, before: str) -> str:
    """What stands for `<sup>text</sup>` behind the character `before`."""
    if not text or not before or len(text) > _LONGEST:
        return text
    if before.isspace():  # nothing is raised to it
        return text.translate(RAISED) if text.isascii() and text.isdigit() else text
    if _NOTE.fullmatch(text) and not _ALL_RAISED.issuperset(text):
        return text
    if before.isdigit() and _ORDINAL.fullmatch(text) and text not in ("n", "i"):
        return text
    return text.translate(RAISED) if _ALL_RAISED.issuperset(text) else f"^({text})"


def lowered(text: str, before: str) -> str:
    """What stands for `<sub>text</sub>`."""
    if not text or len(text) > _LONGEST or not before or not _is_base(before):
        return text
    return text.translate(LOWERED) if _ALL_LOWERED.issuperset(text) else f"_({text})"


def _is_base(character: str) -> bool:
    return character in ")]}" or _WORD.match(character) is not None or character.isalnum()
