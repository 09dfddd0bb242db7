"""There is one job for all commands, and the names of before run it for one more version."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crawl.operations.operation import Place
from crawl.operations.registry import OURS, operations_of
from tests.cluster.standalone import SPARK, bare_environment

JOBS = Path(__file__).parents[1] / "jobs"
BEFORE = sorted(job for job in JOBS.glob("*.py") if job.name != "nutria.py")


def test_a_job_of_before_is_its_command() -> None:
    for job in BEFORE:
        assert not job.is_symlink()  # spark-submit runs what a link leads to, by that name
        lines = job.read_text().splitlines()
        assert f"jobs/nutria.py {job.stem}, by its name of before" in lines[0]
        assert lines[1:] == BEFORE[0].read_text().splitlines()[1:]
        operations = operations_of(job.stem)
        assert any(each.uses_spark for each in operations), job
        assert operations[0].place is Place.CRAWL


def test_every_command_that_may_start_spark_could_be_submitted() -> None:
    names = {job.stem for job in BEFORE}
    for name in OURS:
        operations = operations_of(name)
        if operations[0].place is Place.CRAWL and any(each.uses_spark for each in operations):
            assert name in names or name == "explain", name


@pytest.mark.slow(seconds=10)  # Spark's launcher says by which name it calls a job
@pytest.mark.parametrize("job", [["readdb.py"], ["nutria.py", "readdb"]])
def test_a_job_can_be_submitted(job: list[str], tmp_path: Path) -> None:
    submit = [str(SPARK / "bin" / "spark-submit"), "--master", "local[1]"]
    ended = subprocess.run(
        [*submit, str(JOBS / job[0]), *job[1:], str(tmp_path / "none"), "--stats"],
        env={**bare_environment(tmp_path), "PYSPARK_PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    lines = ended.stdout.splitlines()  # where Spark's launcher sends both
    assert lines[-1].startswith(f"crawl: {tmp_path / 'none'} has no CrawlDb yet"), ended.stdout
    assert "jobs/nutria.py inject" in lines[-1]
    successor = "jobs/readdb.py goes with the next version: jobs/nutria.py readdb is the same"
    assert (successor in lines) is (len(job) == 1)
    assert ended.returncode == 2
