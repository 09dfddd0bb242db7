"""A real Airflow in a folder of its own, for tests: `airflow dags test` on sqlite."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspark

from crawl.spark.java import find_java
from crawl.spark.session import QUICK_JVM
from tests.quick_jvm import quick_jvm

ROOT = Path(__file__).parents[2]
AIRFLOW_PYTHON = ROOT / ".venv-airflow" / "bin" / "python"
INSTALL_S = 1200.0
RUN_S = 1800.0


class Airflow:
    """Runs Airflow's commands on a new database; the first one installs Airflow if need be."""

    def __init__(self, home: Path, max_rounds: int) -> None:
        self._home = home
        self.environment = {
            **{name: value for name, value in os.environ.items() if not _is_ours(name)},
            "AIRFLOW_HOME": str(home),
            "NUTRIA_COMMAND": shlex.join([sys.executable, "-m", "crawl"]),
            "NUTRIA_MAX_ROUNDS": str(max_rounds),
            "NUTRIA_RETRIES": "0",
            "CRAWL_LOG_DIR": str(home / "spark-logs"),
            # most of what is installed is never imported
            "PIP_COMPILE": "0",
            # for spark-submit, which finds none of them by itself
            "PATH": f"{Path(pyspark.__path__[0], 'bin')}:{os.environ['PATH']}",
            "JAVA_HOME": str(find_java().home),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LAUNCHER_OPTS": " ".join(QUICK_JVM),
            "SPARK_SUBMIT_OPTS": quick_jvm(),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(
                {"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"}}
            ),
        }
        self("db", "migrate", limit_s=INSTALL_S)

    def __call__(
        self, *arguments: str, limit_s: float = RUN_S, environment: Mapping[str, str] | None = None
    ) -> str:
        """What the command printed."""
        command = [str(ROOT / "scripts" / "airflow"), *arguments]
        return run(command, {**self.environment, **(environment or {})}, limit_s)

    def crawls(
        self, params: Mapping[str, Any], flavour: str = "command", **more: str
    ) -> dict[str, str]:
        """The states of a run's tasks at its end."""
        command = ("dags", "test", "nutria_crawl", "--conf", json.dumps(params))
        output = self(*command, environment={"NUTRIA_FLAVOUR": flavour, **more})
        with sqlite3.connect(self._home / "airflow.db") as database:
            (newest,) = database.execute("select max(id) from dag_run").fetchone()
            (state,) = database.execute(
                "select state from dag_run where id = ?", (newest,)
            ).fetchone()
            states = dict(
                database.execute(
                    "select task_id, task_instance.state from task_instance"
                    " join dag_run using (run_id) where dag_run.id = ?",
                    (newest,),
                ).fetchall()
            )
        assert state == "success", f"{states}\n{output}"
        return states


def doubtful(folder: Path, program: Sequence[str]) -> str:
    """A program that runs another, which is `crawl`, but ends each phase's first run with a
    failure."""
    script = folder / "doubtful"
    marker = shlex.quote(f"{folder}/failed-")
    script.write_text(
        "#!/bin/sh\n"
        f'{shlex.join(program)} "$@"\n'
        "code=$?\n"
        f'[ -e {marker}"$1" ] && exit $code\n'
        f': >{marker}"$1"\n'
        "exit 5\n"
    )
    script.chmod(0o755)
    return shlex.quote(str(script))


def run(command: list[str], environment: Mapping[str, str], limit_s: float) -> str:
    """Runs a command to its end, or ends it and all that it started."""
    with tempfile.TemporaryFile("w+") as output:
        # not a pipe: a child that it leaves behind would keep that open
        started = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, start_new_session=True, cwd=ROOT
        )
        try:
            code = started.wait(limit_s)
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGKILL)
                started.wait()
        output.seek(0)
        text = output.read()
    assert code == 0, text[-10_000:]
    return text


def _is_ours(name: str) -> bool:
    """Whether this environment variable would change what is tested."""
    return name.startswith(("AIRFLOW", "NUTRIA_", "CRAWL_", "SPARK_", "PYSPARK_"))
