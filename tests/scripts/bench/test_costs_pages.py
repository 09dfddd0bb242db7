"""The benchmark behind `crawl plan` understands what its contestant prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "scripts/bench"

MEASURE = """
import json, sys
from pathlib import Path
from costs_pages import measure
run = measure(Path(sys.argv[1]), 20, 3_000, 3, 1)
print(json.dumps([run.pages, run.cpu_s, run.kilobytes]))
"""


@pytest.mark.slow
def test_twenty_pages_are_measured_by_phase(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MEASURE, str(tmp_path)]
    done = subprocess.run(command, cwd=BENCH, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages, cpu_s, kilobytes = json.loads(done.stdout.splitlines()[-1])
    assert pages == 20 and kilobytes > 20
    assert cpu_s["fetch"] > 0 and cpu_s["parse"] > 0
