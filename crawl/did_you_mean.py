"""Did you mean …? One wording for every misspelt name."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """` (did you mean 'x'?)`, or nothing where no known name is near."""
    from difflib import get_close_matches  # nobody who types well waits for it

    close = get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
