"""What a process pays for that leaves pandas out: not pandas, and not a word of it."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import sys
from crawl.parsing.process.pandas_left_out import leave_pandas_out

leave_pandas_out()
import pyarrow as pa

assert pa.array(["a"]).to_pylist() == ["a"]
assert "pandas" not in sys.modules
"""


def test_an_array_is_made_without_pandas_and_without_a_warning() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=300, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
