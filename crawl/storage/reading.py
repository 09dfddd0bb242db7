"""Reading without a lock: what is read may be forgotten and deleted meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from crawl.errors import StorageError

LOOKS = 5
"""How often a reader looks for the current state, or begins to read it: each time a writer must
have forgotten the one that was found."""

State = TypeVar("State")
Result = TypeVar("Result")


def read_while_kept(
    find: Callable[[], State],
    is_kept: Callable[[State], bool],
    read: Callable[[State], Result],
    begin_anew: Callable[[], object] = lambda: None,
) -> Result:
    """What `read` makes of the state, of one dataset or several, that `find` finds; once more if
    it fails and that state is not kept any longer."""
    for look in range(LOOKS):
        if look:
            begin_anew()
        state = find()
        try:
            return read(state)
        except StorageError as error:
            if is_kept(state):
                raise
            fault = error
    raise StorageError(
        f"{LOOKS} times in a row what was being read was replaced and deleted, at last here:"
        f" {fault}; try again when less is written there"
    ) from fault
