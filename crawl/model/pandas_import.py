"""Keeps pandas out of processes in which nobody uses it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress


class _NotInstalled:
    """A finder of modules, by which there is no pandas."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def leave_pandas_out() -> None:
    """Has pyarrow load pandas only where somebody else has, or asks for it (`to_pandas`).

    Of itself it does so with the first list that becomes a column, to see whether that is a
    Series: 0.3 s of a processor in every process. To be called again when plugins may have
    loaded it, so that a Series is one then. For processes of our own, not for a program that
    imports us.
    """
    if "pyarrow" not in sys.modules:
        return
    import pyarrow as pa

    if "pandas" in sys.modules:
        with suppress(ImportError):  # of a version that pyarrow does not take
            pa.array([]).to_pandas()
        return
    finder = _NotInstalled()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])  # it looks for pandas once
    finally:
        sys.meta_path.remove(finder)
