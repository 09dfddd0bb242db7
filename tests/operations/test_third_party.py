"""An operation of somebody else's package: one folder and an entry point, and every face has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.phases.made import datum, make_crawldb

PACKAGES = Path(__file__).with_name("third_party")
ROOT = Path(__file__).parents[2]

EXERCISE = """
import contextlib, io, json, sys, threading

import crawl
from crawl.cli.main import main
from crawl.errors import Cancelled, UsageError

DIR, found = sys.argv[1], {}


def typed(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([*words])
        except SystemExit as ended:
            return [ended.code, out.getvalue(), err.getvalue()]


class Watcher:
    progress_seconds = None

    def __init__(self):
        self.events, self.begun = [], threading.Event()

    def on_event(self, event):
        self.events.append(type(event).__name__)
        self.begun.set()


found["help"] = typed("--help")
found["usage"] = typed("lengths", "--help")
found["command"] = typed("lengths", DIR, "--longest", "2")
found["json"] = typed("lengths", DIR, "--json")
found["schema"] = typed("lengths", "--schema")
found["wrong"] = typed("lengths", DIR, "--longest", "0")
with crawl.open(DIR) as web:
    found["method"] = web.lengths(longest=1).longest
    try:
        web.lengths(longest=0)
    except UsageError as fault:
        found["fault"] = str(fault)
    watcher = Watcher()
    running = web.start("lengths", slowly=True, observer=watcher)
    assert watcher.begun.wait(60) and not running.is_done
    running.cancel()
    try:
        running.result(60)
    except Cancelled as fault:
        found["cancelled"] = str(fault)
    found["events"] = watcher.events
sys.path.insert(0, "docs")
from reference.commands import commands_page
found["page"] = commands_page()
json.dump(found, sys.stdout)
"""


@pytest.mark.slow(seconds=5)  # an entry point is found by a process that begins with it
def test_a_package_of_somebody_else_adds_an_operation(tmp_path: Path) -> None:
    urls = ["http://a.test/", "http://a.test/longer", "http://a.test/longest"]
    made = make_crawldb(str(tmp_path / "crawl"), {url: datum() for url in urls})
    done = subprocess.run(
        [sys.executable, "-c", EXERCISE, made.address],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGES), str(ROOT)])},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "lengths" in found["help"][1] and "how long the URLs are" in found["help"][1]
    assert "--longest N" in found["usage"][1] and "[default: 3]" in found["usage"][1]
    code, out, err = found["command"]
    assert (code, out.splitlines()[1:]) == (0, ["    21  " + urls[2], "    20  " + urls[1]])
    assert err.splitlines() == [
        "lengths: reading",
        "lengths: every URL was measured",
        "lengths: 3 URLs",
    ]
    assert json.loads(found["json"][1])["urls"] == 3
    schema = json.loads(found["schema"][1])
    assert schema["$defs"]["LengthsOptions"]["properties"]["longest"]["minimum"] == 1
    expected = "expected a whole number of at least 1, got"
    assert found["wrong"][0] == 2 and f"--longest: {expected} '0'" in found["wrong"][2]
    assert found["fault"] == f"longest: {expected} 0"
    assert found["method"] == [urls[2]]
    assert "cancelled" in found["cancelled"]
    assert found["events"] == ["Notice", "Finished"]
    assert "## crawl lengths" in found["page"] and "crawl lengths mycrawl" in found["page"]


BROKEN = """
[nutria.operation]
broken = acme_broken:OPERATION
fetch = acme_broken:OPERATION
nothing = json:dumps
"""


@pytest.mark.slow(seconds=5)
def test_packages_that_are_broken_leave_our_commands_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "acme_broken").mkdir()
    (tmp_path / "acme_broken" / "__init__.py").write_text("raise RuntimeError('\\x1b[31mboom')")
    about = tmp_path / "acme_broken-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(BROKEN)

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(tmp_path), str(ROOT)])
        command = [sys.executable, "-m", "crawl", *words]
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    listed = typed("--help")
    assert listed.returncode == 0 and "updatedb" in listed.stdout
    assert "operation broken: acme_broken:OPERATION cannot be loaded" in listed.stdout
    assert "operation nothing: json:dumps is no Operation" in listed.stdout
    assert "operation fetch of acme_broken:OPERATION: the name is taken" in listed.stderr
    assert json.loads(typed("fetch", "--schema").stdout)["title"] == "fetch"
    asked = typed("broken")
    assert asked.returncode == 2 and asked.stderr.splitlines()[-1] == (
        r"crawl: operation broken: acme_broken:OPERATION cannot be loaded: \x1b[31mboom"
    )
    assert "\x1b" not in listed.stdout + listed.stderr + asked.stderr
