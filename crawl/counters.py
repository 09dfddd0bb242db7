"""Counted reasons: what became of every URL that a phase met.

A plain Counter, so that counts from many tasks add up with `+=` and travel as JSON.
"""

from __future__ import annotations

from collections import Counter

Counters = Counter[str]
