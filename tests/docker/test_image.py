"""The Dockerfile's own build steps, run; and the services of compose.yaml, started from them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import crawl
from tests.cluster.standalone import wait_for
from tests.docker.composition import services
from tests.docker.containers import environment_of, started
from tests.docker.dockerfile import DOCKER, ROOT, Built, stages
from tests.docker.test_monitoring import jobs
from tests.free_port import free_port
from tests.storage import s3_server

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=600), pytest.mark.timeout(2400)]

RUN_S = 600.0


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Of the stages `installed` and `nutria`."""
    built = Built(tmp_path_factory.mktemp("image"))
    built.build(stages()["installed"])
    # what COPY --from does: here both stages have one root
    shutil.rmtree(built.path("/source"))
    built.build(stages()["nutria"])
    built.path("/var/lib/spark").mkdir(parents=True)
    shutil.copytree(DOCKER / "site", built.path("/site"))
    return built


def ran(
    built: Built, environment: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """The image's entry point with these arguments, as `docker run` would call it."""
    return subprocess.run(
        [built.path("/opt/nutria/bin/crawl"), *arguments],
        env=environment,
        cwd=built.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )


def test_the_command_runs_without_the_checkout(image: Built, tmp_path: Path) -> None:
    environment = image.environment("nutria")
    result = ran(image, environment, "--version")
    assert (result.returncode, result.stdout) == (0, f"crawl, version {crawl.__version__}\n")
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("https://www.example.org/\nhttps://www.example.com/\n")
    result = ran(image, environment, "inject", str(tmp_path / "crawl"), str(seeds))
    assert result.returncode == 0, result.stderr
    result = ran(image, environment, "readdb", str(tmp_path / "crawl"), "--stats", "--json")
    assert json.loads(result.stdout)["urls"] == 2
    # what is imported is what was installed
    python = [
        str(image.path("/opt/nutria/bin/python")),
        "-c",
        "import crawl; print(crawl.__file__)",
    ]
    place = subprocess.run(
        python, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert place.stdout.startswith(str(image.path("/opt/nutria/lib")))


def test_it_has_the_jobs_and_the_extras_and_nothing_to_build_with(image: Built) -> None:
    inside = image.path("/opt/nutria")
    assert {path.name for path in (inside / "jobs").glob("*.py")} == {
        path.name for path in (ROOT / "jobs").glob("*.py")
    }
    (packages,) = inside.glob("lib/python3.*/site-packages")
    present = {path.name for path in packages.iterdir()}
    assert {"crawl", "pyspark", "s3fs", "hdfs_native", "prometheus_client"} <= present
    assert not {"pip", "setuptools", "pytest", "moto", "mypy"} & present
    assert not (packages / "pyarrow" / "include").exists()
    assert not list(packages.glob("crawl/**/*.toml.example"))


def test_versions_are_those_of_the_constraints(image: Built) -> None:
    pinned = dict(
        line.split("==")
        for line in (ROOT / "scripts" / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    wanted = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pinned.items()}
    (packages,) = image.path("/opt/nutria").glob("lib/python3.*/site-packages")
    installed = dict(
        re.sub(r"_+", "-", info.name.removesuffix(".dist-info")).lower().rsplit("-", 1)
        for info in packages.glob("*.dist-info")
        if not info.name.startswith("nutria-")
    )
    found = {name.replace(".", "-"): version for name, version in installed.items()}
    assert {name: version for name, version in found.items() if wanted.get(name) != version} == {}


def test_the_services_of_spark_and_a_crawl_on_s3(image: Built, tmp_path: Path) -> None:
    """Master and two workers become healthy and show their figures; the command injects there."""
    before = contents(image)
    with ExitStack() as stack:
        store = stack.enter_context(s3_server.running())
        ports = {"7077": free_port(), "8080": free_port(), "8333": store.port}
        master = stack.enter_context(
            started("spark-master", "nutria", image, ports, tmp_path / "master")
        )
        assert master.health().returncode == 1, "it cannot be healthy yet"
        workers = []
        for number in range(services()["spark-worker"]["deploy"]["replicas"]):
            own = {**ports, "8081": free_port()}
            folder = tmp_path / f"worker{number}"
            workers.append(
                stack.enter_context(started("spark-worker", "nutria", image, own, folder))
            )
        for container in (master, *workers):
            container.becomes_healthy()

        for name, port in (
            ("spark-master", ports["8080"]),
            *(("spark-worker", worker.ports["8081"]) for worker in workers),
        ):
            path = jobs()[name]["metrics_path"]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
                # Prometheus 3 takes nothing else without being told to
                assert answer.headers["Content-Type"].startswith("text/plain")
                assert b"metrics_jvm_" in answer.read()

        environment = environment_of("crawl", "nutria", image, ports)
        environment["CRAWL_LOG_DIR"] = str(tmp_path / "logs")
        bucket = store.new_bucket()
        settings = image.path("/site/crawl-site.toml")
        settings.write_text(
            settings.read_text()
            .replace("spark-master:7077", f"127.0.0.1:{ports['7077']}")
            .replace("/var/lib/targets", str(tmp_path / "targets"))
            .replace("9464", "0")
            .replace("0.0.0.0", "127.0.0.1")
        )
        seeds = str(image.path("/site/seeds.txt"))
        result = ran(image, environment, "inject", f"{bucket}/web", seeds)
        assert result.returncode == 0, result.stderr
        result = ran(image, environment, "readdb", f"{bucket}/web", "--stats", "--json")
        assert json.loads(result.stdout)["urls"] == 1
        # by the workers, not beside them
        logs = "".join(worker.daemon.log.read_text() for worker in workers)
        assert "Asked to launch executor" in logs
    assert contents(image) == before, "the image's own files are read-only in compose.yaml"


def contents(image: Built) -> set[tuple[str, int]]:
    return {
        (str(path), path.stat().st_size)
        for path in image.path("/opt/nutria").rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def scheduler(image: Built) -> Iterator[Built]:
    """Of the stage of that name, beside the crawler."""
    image.build(stages()["scheduler"])
    image.path("/var/lib/airflow").mkdir(parents=True)
    yield image


def test_airflow_becomes_healthy_and_knows_the_dag(scheduler: Built, tmp_path: Path) -> None:
    ports = {"8090": free_port(), "8333": 9, "7077": 9}
    with started("airflow", "airflow", scheduler, ports, tmp_path / "airflow") as airflow:
        assert airflow.health().returncode == 1, "it cannot be healthy yet"
        airflow.becomes_healthy()
        listing = wait_for(lambda: dags(airflow.environment, scheduler), "the DAG")
    assert "example_" not in listing


def dags(environment: dict[str, str], built: Built) -> str | None:
    result = subprocess.run(
        [built.path("/opt/airflow/scripts/airflow"), "dags", "list", "--output", "plain"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout if "nutria_crawl" in result.stdout else None
