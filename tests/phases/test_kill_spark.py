"""kill -9 of the whole command while it runs on Spark, at moments of chance."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import LOCK_NAME
from tests.cli.calling import Caller
from tests.phases.made import datum, make_crawldb, records_of, urls_of
from tests.quick_jvm import quick_jvm

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow(seconds=20), pytest.mark.spark]

LONG_AGO = 1_700_000_000_000
KNOWN = {f"http://h{n % 50}.org/p{n}": datum(fetch_time=LONG_AGO) for n in range(2000)}
CHANCE = random.Random(20261115)


@pytest.fixture
def crawl(spark: object, capsys: pytest.CaptureFixture[str]) -> Caller:
    return Caller(capsys)


def moments(longest_s: float) -> tuple[float, float]:
    """One in the first half of a job that lasts so long, and one in the second."""
    return CHANCE.uniform(0, longest_s / 2), CHANCE.uniform(longest_s / 2, longest_s)


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "crawl", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kill_at_work(process: subprocess.Popen[str], directory: CrawlDir, after_s: float) -> bool:
    """Kills the command and its JVM some time after it took the lock; False if too late."""
    lock = Path(directory.crawldb.folder.path(LOCK_NAME))
    while process.poll() is None and not lock.exists():
        time.sleep(0.01)
    time.sleep(after_s)
    late = process.poll() is not None
    os.killpg(process.pid, signal.SIGKILL) if not late else None
    process.communicate()
    return not late


def finish(crawl: Caller, *arguments: str) -> None:
    """In this process, which has a session: nobody kills this one."""
    answer = crawl(*arguments)
    assert answer.code == 0, answer.err


def test_inject(tmp_path: Path, crawl: Caller) -> None:
    directory = make_crawldb(str(tmp_path / "c"), KNOWN, buckets=16)
    seeds = tmp_path / "seeds.txt"
    new = {f"http://h{n % 70}.org/new{n}" for n in range(3000)}
    seeds.write_text("".join(f"{url}\n" for url in sorted(new)))
    command = ["inject", directory.address, str(seeds)]
    killed = 0
    for moment in moments(1.5):
        killed += kill_at_work(start(*command), directory, moment)
        assert records_of(directory).keys() in (KNOWN.keys(), KNOWN.keys() | new)
    finish(crawl, *command)
    assert records_of(directory).keys() == KNOWN.keys() | new
    assert not directory.crawldb.folder.exists(LOCK_NAME)
    assert not directory.crawldb.folder.exists("scratch")
    assert killed > 0


def test_generate(tmp_path: Path, crawl: Caller) -> None:
    directory = make_crawldb(str(tmp_path / "c"), KNOWN, buckets=16)
    command = ["generate", directory.address, "--top-n", "500"]
    command += ["-D", "generate.update.crawldb=true"]
    killed = 0
    for moment in moments(2.5):
        killed += kill_at_work(start(*command), directory, moment)
        assert records_of(directory).keys() == KNOWN.keys()
    finish(crawl, *command)
    names = [segment.name for segment in directory.segments.generated()]
    taken = urls_of(directory, names)
    assert len(taken) == 500 * len(names) == len(set(taken))
    assert killed > 0


def test_of_two_generates_at_once_one_wins(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), KNOWN, buckets=16)
    command = ["generate", directory.address, "-D", "generate.update.crawldb=true"]
    both = [start(*command), start(*command)]
    answers = [process.communicate() for process in both]
    codes = sorted(process.returncode for process in both)
    # the other one came while the first was at work, or found nothing left to do
    assert codes in ([0, 3], [0, 1])
    if codes == [0, 3]:
        (refused,) = [
            err for process, (_, err) in zip(both, answers, strict=True) if process.returncode == 3
        ]
        assert "is locked: generate by" in refused
    names = [segment.name for segment in directory.segments.generated()]
    assert sorted(urls_of(directory, names)) == sorted(KNOWN)


@pytest.mark.slow(seconds=40)
def test_the_jobs_run_under_spark_submit(tmp_path: Path) -> None:
    import pyspark

    seeds = tmp_path / "seeds.txt"
    seeds.write_text("http://a.org/\nhttp://b.org/\n")
    root = Path(__file__).parents[2]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environ = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(root),
        "SPARK_SUBMIT_OPTS": quick_jvm(),
    }

    def job(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [submit, "--master", "local[2]", root / "jobs" / f"{name}.py", *arguments],
            env=environ,
            capture_output=True,
            text=True,
        )

    crawl = str(tmp_path / "c")
    done = job("inject", crawl, str(seeds))
    assert done.returncode == 0, done.stderr
    assert "new URLs       2" in done.stdout
    assert job("generate", crawl, "--top-n", "1").returncode == 0
    assert "TOTAL urls                  2" in job("readdb", crawl, "--stats").stdout
    # spark-submit hands on whether it failed, not how
    assert job("readdb", crawl).returncode != 0
