"""Whether a process of this machine lives."""

from __future__ import annotations

import os


def process_lives(number: int) -> bool:
    """Whether there is a process of that number, whoever's it is."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
