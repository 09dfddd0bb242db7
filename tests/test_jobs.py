"""There is one job for all commands; the names of before are its, too."""

from __future__ import annotations

from pathlib import Path

from crawl.operations.operation import Place
from crawl.operations.registry import OURS, operations_of

JOBS = Path(__file__).parents[1] / "jobs"


def test_a_job_is_its_command() -> None:
    assert not (JOBS / "nutria.py").is_symlink()
    others = [job for job in JOBS.glob("*.py") if job.name != "nutria.py"]
    assert {str(job.readlink()) for job in others} == {"nutria.py"}
    for job in others:
        operations = operations_of(job.stem)
        assert any(each.uses_spark for each in operations), job
        assert operations[0].place is Place.CRAWL


def test_every_command_that_may_start_spark_can_be_submitted() -> None:
    names = {job.stem for job in JOBS.glob("*.py")}
    for name in OURS:
        operations = operations_of(name)
        if operations[0].place is Place.CRAWL and any(each.uses_spark for each in operations):
            assert name in names or name == "explain", name
