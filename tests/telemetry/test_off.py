"""Off, which is the default, telemetry imports nothing and adds nothing to a task."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from crawl.config import properties_in
from crawl.telemetry import settings
from crawl.telemetry.settings import Settings

ROUND = """
import sys
from crawl.tables.runner import InProcess
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.generate import run as generate
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.generate.options import GenerateOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.telemetry.ambient import observed_command

seeds, folder = sys.argv[1:]
config, directory = Config.of({}), CrawlDir(folder)
with observed_command(config, "run", folder):
    inject.run(InProcess(), directory, config, InjectOptions((seeds,)), SystemClock())
    done = generate.run(InProcess(), directory, config, GenerateOptions(), SystemClock(),
                        resolver=lambda host: None)
assert done.segments
import crawl.fetcher.task, crawl.phases.parse.tasks, crawl.phases.fetch.run, crawl.cli.main
loaded = {name.partition(".")[0] for name in sys.modules}
unwanted = loaded & {"prometheus_client", "opentelemetry", "google"}
assert not unwanted, unwanted
"""


def test_off_nothing_is_imported(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("http://a.example/\n")
    done = subprocess.run(
        [sys.executable, "-c", ROUND, str(seeds), str(tmp_path / "c")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_the_defaults_switch_nothing_on() -> None:
    from crawl.config import Config

    assert Settings.of(Config.of({})) == Settings()
    assert not Settings().is_on
    declared = properties_in(settings)
    assert len({each.name for each in declared}) == len(declared)
