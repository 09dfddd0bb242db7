"""Crawls of the synthetic web by a real Airflow, against the same crawl by `crawl run`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.model.derived_tables import HOSTDB
from crawl.rounds.steps import AFTER_ROUNDS
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web, WebServer, duplicates, running
from tests.airflow.pretended import DAG_FILE
from tests.airflow.scheduler import AIRFLOW_PYTHON, RUN_S, Airflow, doubtful, run
from tests.airflow.warm_command import warm_command
from tests.phases.fetch_commands import pages_asked, write_conf
from tests.phases.made import records_of

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=400), pytest.mark.timeout(3600)]

PAGES = 24
MAX_ROUNDS = 3
ROUND_TASKS = ("generate", "fetch", "parse", "updatedb")
NOT_AFTER = {f"after_rounds.{step.name}": "skipped" for step in AFTER_ROUNDS}


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    return Airflow(tmp_path_factory.mktemp("airflow"), MAX_ROUNDS)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with running(Web(Settings.plain(3, PAGES, port=0, size=500))) as server:
        yield server


def end_state(crawl_dir: Path) -> dict[str, tuple[str, float, int]]:
    """What there is in the CrawlDb; moments are left out."""
    return {
        url: (record.status.label, round(record.score, 5), record.retries)
        for url, record in records_of(CrawlDir(str(crawl_dir))).items()
    }


def round_of(number: int, state: str) -> dict[str, str]:
    return {f"round_{number}.{task}": state for task in ROUND_TASKS}


def test_rounds_by_airflow_are_those_of_crawl_run(
    airflow: Airflow, server: WebServer, tmp_path: Path
) -> None:
    conf = str(write_conf(tmp_path / "conf", server))
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n".join(server.web.seeds()))
    by_airflow, by_run = tmp_path / "by airflow", tmp_path / "by run"
    params = {"crawl_dir": str(by_airflow), "conf": conf, "num_fetchers": 1}

    # two rounds, the second of them not of all that is due; every phase is tried again
    # though it was done
    with warm_command(airflow.environment) as program:
        states = airflow.crawls(
            {**params, "seeds": [str(seeds)], "rounds": 2, "top_n": 10, "master": "local[1]"},
            NUTRIA_COMMAND=doubtful(tmp_path, program),
            NUTRIA_RETRIES="1",
            NUTRIA_RETRY_DELAY="0.1",
        )
    assert {path.name for path in tmp_path.glob("failed-*")} == {
        "failed-inject",
        *(f"failed-{phase}" for phase in ROUND_TASKS),
    }
    assert states == {
        "inject": "success",
        **round_of(1, "success"),
        **round_of(2, "success"),
        **round_of(3, "skipped"),
        **NOT_AFTER,
    }
    assert not duplicates(server.requests())
    assert pages_asked(server) == 13
    options = ["--seeds", str(seeds), "--rounds", "2", "--top-n", "10", "--num-fetchers", "1"]
    command = [sys.executable, "-m", "crawl", "run", str(by_run), *options]
    run([*command, "--conf", conf, "--master", "local[1]"], airflow.environment, RUN_S)
    assert pages_asked(server) == 2 * 13
    ended = end_state(by_airflow)
    assert ended == end_state(by_run)
    fetched = Counter(status for status, *_ in ended.values())
    assert fetched == {"db_fetched": 13, "db_unfetched": PAGES - 13}

    # it goes on without seeds, by spark-submit, and ends before the rounds do
    after = ["updatehostdb"]
    states = airflow.crawls({**params, "rounds": MAX_ROUNDS, "after": after}, "spark-submit")
    assert states == {
        "inject": "skipped",
        **round_of(1, "success"),
        **round_of(2, "skipped"),
        **round_of(3, "skipped"),
        **NOT_AFTER,
        "after_rounds.updatehostdb": "success",
    }
    assert CrawlDir(str(by_airflow)).dataset(HOSTDB).require_current().rows == 3
    ended = end_state(by_airflow)
    assert set(ended) == set(server.web.urls())
    assert {status for status, *_ in ended.values()} == {"db_fetched"}
    assert pages_asked(server) == 13 + PAGES


def test_it_is_parsed_where_there_is_no_spark(airflow: Airflow) -> None:
    script = (
        "import os, runpy, sys\n"
        "sys.modules.update(pyspark=None, pyarrow=None, numpy=None)\n"
        "for flavour in ('command', 'spark-submit'):\n"
        "    os.environ['NUTRIA_FLAVOUR'] = flavour\n"
        "    dag = runpy.run_path(sys.argv[1])['dag']\n"
        "    dag.validate()\n"
        "    print(flavour, 'tasks:', len(dag.tasks))\n"
    )
    output = run([str(AIRFLOW_PYTHON), "-c", script, str(DAG_FILE)], airflow.environment, RUN_S)
    for flavour in ("command", "spark-submit"):
        count = 1 + MAX_ROUNDS * len(ROUND_TASKS) + len(AFTER_ROUNDS)
        assert f"{flavour} tasks: {count}" in output
