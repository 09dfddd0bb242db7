"""Whether a process of this machine lives."""

from __future__ import annotations

import os


def process_lives(number: int) -> bool:
    """Whether there is a process of that number, whoever's it is."""
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is somebody else's
    return True
