"""The jobs are one text but for the command's name, so that what holds for one holds for all."""

from __future__ import annotations

from pathlib import Path

from crawl.cli.main import COMMANDS

JOBS = sorted((Path(__file__).parents[1] / "jobs").glob("*.py"))


def test_a_job_is_its_command() -> None:
    assert {job.stem for job in JOBS} <= COMMANDS.keys()
    texts = {job.read_text().replace(job.stem, "COMMAND") for job in JOBS}
    assert len(texts) == 1
