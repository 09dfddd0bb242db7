"""A process to which pandas is of no use.

pyarrow loads it, where it is installed, when the first list becomes an array: that takes half a
processor second and more, and forty megabytes."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType

import pyarrow as pa


def leave_pandas_out() -> None:
    """Shows pyarrow a pandas that is too old for it. Plugins may import pandas as ever; what
    pyarrow cannot do any more, for the rest of the process, is to hand it a table."""
    if "pandas" in sys.modules:
        return
    sys.modules["pandas"] = pandas = ModuleType("pandas")
    pandas.__version__ = "0"  # type: ignore[attr-defined]
    try:
        with warnings.catch_warnings():  # pyarrow says that it is too old
            warnings.simplefilter("ignore")
            pa.array([""])
    finally:
        del sys.modules["pandas"]
