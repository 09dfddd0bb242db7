"""pyarrow loads pandas where somebody uses it, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pandas")

START = """
import sys
import pyarrow as pa
from crawl.model.pandas_import import leave_pandas_out

leave_pandas_out()
assert pa.array(["a", None]).null_count == 1
assert pa.table({"n": [1]})["n"].to_pylist() == [pa.scalar(1).as_py()]
assert "pandas" not in sys.modules
"""


def run(program: str) -> None:
    """In an interpreter that has loaded nothing yet."""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
def test_lists_become_columns_without_it() -> None:
    run(START)


@pytest.mark.slow
def test_whoever_asks_for_it_gets_it() -> None:
    run(
        START
        + """
assert pa.table({"n": [1, 2]}).to_pandas()["n"].sum() == 3
import pandas as pd
assert pa.array(pd.Series([1.0, float("nan")])).null_count == 1
"""
    )


@pytest.mark.slow
def test_a_series_is_one_where_a_plugin_has_loaded_it() -> None:
    run(
        START
        + """
import pandas as pd
leave_pandas_out()
assert pa.array(pd.Series([1.0, float("nan")])).null_count == 1
"""
    )
    run("""
import pandas as pd
import pyarrow as pa
from crawl.model.pandas_import import leave_pandas_out

leave_pandas_out()
assert pa.array(pd.Series([1.0, float("nan")])).null_count == 1
""")


@pytest.mark.slow
def test_nothing_is_loaded_where_pyarrow_is_not() -> None:
    run("""
import sys
from crawl.model.pandas_import import leave_pandas_out

leave_pandas_out()
assert "pyarrow" not in sys.modules
""")
