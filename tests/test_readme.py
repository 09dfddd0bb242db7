"""README's "Ten minutes", pasted into a shell as it stands, over a web of fewer pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAYS_NO = ("filterchecker", "robotsparser")
"""Commands whose answer is no, which is exit code 1."""
CRAWL = """#!/bin/sh
export CRAWL_CALLED_AS=./scripts/crawl
test "$1" != testweb || set -- "$@" --sites 4 --pages 40
exec {python} -m crawl "$@"
"""


def ten_minutes() -> list[str]:
    """The lines to paste: of a block that shows a prompt, those behind it."""
    text = (ROOT / "README.md").read_text().split("## Ten minutes")[1].split("\n## ")[0]
    found: list[str] = []
    for block in re.findall(r"^```\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found += typed or lines
    return found


def test_every_command_of_it_is_ours() -> None:
    from crawl.cli.main import COMMANDS

    named = re.findall(r"scripts/crawl (\w+)", "\n".join(ten_minutes()))
    assert len(named) > 20 and set(named) <= set(COMMANDS)


@pytest.mark.spark
@pytest.mark.slow(seconds=120)
@pytest.mark.timeout(900)
def test_it_can_be_pasted(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    crawl = tmp_path / "scripts" / "crawl"
    crawl.write_text(CRAWL.format(python=sys.executable))
    crawl.chmod(0o755)
    told = "trap 'echo \"FAILED $? $BASH_COMMAND\" >&2' ERR"
    # whatever happens, the web that was started is ended with the shell
    script = "\n".join(["trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", told, *ten_minutes()])
    environment = {key: value for key, value in os.environ.items() if key != "CRAWL_CONF_DIR"}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    failed = [line for line in done.stderr.splitlines() if line.startswith("FAILED")]
    unexpected = [line for line in failed if not any(name in line for name in SAYS_NO)]
    assert not unexpected, "\n".join([*unexpected, done.stderr[-3000:]])
    assert len(failed) == len(SAYS_NO), "they are there to say no"
    for shown in ("new URLs", "against robots.txt", "left for later", "in all"):
        assert shown in done.stdout + done.stderr, shown
