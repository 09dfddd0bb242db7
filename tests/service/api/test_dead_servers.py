"""Servers that nobody answers for: what becomes of their jobs, and how it is counted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.free_port import free_port
from tests.service.api.served import running

_JOBS = 6


@pytest.mark.slow(seconds=10)
def test_each_job_of_a_server_that_is_dead_is_refused_once(tmp_path: Path) -> None:
    """Its robots.txt cannot be had: without it nothing may be asked for, now or in a second."""
    with running(tmp_path) as service:
        dead = f"http://127.0.0.1:{free_port()}"
        jobs = service.submit(*(f"{dead}/p/{n}" for n in range(_JOBS)))
        for job in jobs:
            end = service.ended(job["id"])
            assert (end["state"], end["reason"]) == ("refused", "robots_deferred")
        text = service.ask("GET", "/metrics").body.decode()
    refused = re.findall(r'refusals_total\{.*reason="robots_deferred".*\} (\S+)', text)
    assert list(map(float, refused)) == [_JOBS]
    (again,) = re.findall(r"tried_again_total\{.*\} (\S+)", text)
    assert float(again) == 0
