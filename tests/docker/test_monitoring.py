"""Prometheus scrapes the services that exist, and Grafana queries Prometheus."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from crawl.telemetry.settings import METRICS_DISCOVERY, METRICS_PORT
from tests.docker.composition import mounts, services
from tests.docker.dockerfile import DOCKER
from tests.docker.test_compose import site

PROMETHEUS = DOCKER / "prometheus.yml"
GRAFANA = DOCKER / "grafana"


def jobs() -> dict[str, dict[str, Any]]:
    loaded = yaml.safe_load(PROMETHEUS.read_text())
    return {job["job_name"]: job for job in loaded["scrape_configs"]}


def provisioned(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((GRAFANA / "provisioning" / name).read_text())
    assert loaded["apiVersion"] == 1
    return loaded


def web_port_of(service: str) -> str:
    """The port of the service's web page, from its command."""
    command = services()[service]["command"]
    return str(command[command.index("--webui-port") + 1])


def test_prometheus_reads_the_file_that_is_mounted() -> None:
    sources = [source for source, _, _ in mounts(services()["prometheus"])]
    assert (DOCKER / sources[0]).resolve() == PROMETHEUS
    assert (
        f"--config.file={mounts(services()['prometheus'])[0][1]}"
        in services()["prometheus"]["command"]
    )


def test_its_alerts_are_mounted_where_it_looks() -> None:
    (rules,) = yaml.safe_load(PROMETHEUS.read_text())["rule_files"]
    (source,) = [each for each, target, _ in mounts(services()["prometheus"]) if target == rules]
    assert yaml.safe_load((DOCKER / source).read_text())["groups"]


def test_running_commands_are_found_by_their_files() -> None:
    (discovery,) = jobs()["nutria"]["file_sd_configs"]
    (pattern,) = discovery["files"]
    folder = site()[METRICS_DISCOVERY]
    assert pattern == f"{folder}/*.json"
    assert site()[METRICS_PORT] > 0
    for name in ("airflow", "crawl"):
        assert ("targets", folder, False) in mounts(services()[name])
    assert ("targets", folder, True) in mounts(services()["prometheus"])


def test_spark_is_asked_where_it_answers() -> None:
    sinks = dict(re.findall(r"^(\S+)\.sink\.prometheusServlet\.path=(\S+)$", spark_metrics(), re.M))
    assert jobs()["spark-master"]["static_configs"] == [
        {"targets": [f"spark-master:{web_port_of('spark-master')}"]}
    ]
    assert jobs()["spark-master"]["metrics_path"] == f"{sinks['master']}/"
    (workers,) = jobs()["spark-worker"]["dns_sd_configs"]
    assert (workers["names"], str(workers["port"])) == (
        ["spark-worker"],
        web_port_of("spark-worker"),
    )
    assert jobs()["spark-worker"]["metrics_path"] == f"{sinks['*']}/"
    for name, variable in (
        ("spark-master", "SPARK_MASTER_OPTS"),
        ("spark-worker", "SPARK_WORKER_OPTS"),
    ):
        options = services()[name]["environment"][variable].split()
        assert "-Dspark.metrics.conf=/opt/nutria/spark-metrics.properties" in options
        assert set(services()[name]["networks"]) & set(services()["prometheus"]["networks"])


def test_the_realtime_lane_is_asked_where_it_answers() -> None:
    ((target,),) = [[each["targets"]] for each in jobs()["nutria-service"]["static_configs"]]
    for each in target:
        name, port = each.split(":")
        assert services()[name]["ports"][0].endswith(f":{port}")
        assert set(services()[name]["networks"]) & set(services()["prometheus"]["networks"])


def spark_metrics() -> str:
    return (DOCKER / "spark-metrics.properties").read_text()


def test_grafana_asks_prometheus() -> None:
    (source,) = provisioned("datasources/prometheus.yaml")["datasources"]
    assert source["type"] == "prometheus"
    assert source["url"] == "http://prometheus:9090"
    assert services()["prometheus"]["ports"][0].endswith(":9090")
    assert set(services()["grafana"]["networks"]) & set(services()["prometheus"]["networks"])
    assert (
        source["jsonData"]["timeInterval"]
        == yaml.safe_load(PROMETHEUS.read_text())["global"]["scrape_interval"]
    )


def test_grafana_finds_its_dashboard() -> None:
    (provider,) = provisioned("dashboards/nutria.yaml")["providers"]
    folder = provider["options"]["path"]
    assert ("./grafana/dashboards", folder, True) in mounts(services()["grafana"])
    assert ("./grafana/provisioning", "/etc/grafana/provisioning", True) in mounts(
        services()["grafana"]
    )
    home = services()["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert Path(home).parent == Path(folder)
    assert (GRAFANA / "dashboards" / Path(home).name).is_file()


@pytest.mark.parametrize("name", ["nutria", "nutria-realtime"])
def test_its_dashboards_ask_the_provisioned_source(name: str) -> None:
    """By its identity, by a variable that lists such sources, or by asking for the default."""
    (source,) = provisioned("datasources/prometheus.yaml")["datasources"]
    dashboard = json.loads((GRAFANA / "dashboards" / f"{name}.json").read_text())
    listed = {
        f"${{{variable['name']}}}"
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "datasource" and variable["query"] == source["type"]
    }
    asked = {
        each["uid"]
        for each in _all_of(dashboard, "datasource")
        if isinstance(each, dict) and "uid" in each
    }
    assert asked - {"-- Grafana --"} <= listed | {source["uid"]}
    assert asked & (listed | {source["uid"]})


def _all_of(tree: Any, key: str) -> list[Any]:
    if isinstance(tree, list):
        return [found for each in tree for found in _all_of(each, key)]
    if not isinstance(tree, dict):
        return []
    own = [tree[key]] if key in tree else []
    return own + [found for each in tree.values() for found in _all_of(each, key)]


# ---- by Prometheus's own checker


@pytest.fixture(scope="module")
def promtool(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The one on the PATH, else Debian's, unpacked and not installed."""
    found = shutil.which("promtool")
    if found:
        return found
    folder = tmp_path_factory.mktemp("promtool")
    assert shutil.which("apt-get"), "there is no promtool: install it (it is part of Prometheus)"
    result = subprocess.run(
        "(apt-get download prometheus || (apt-get update -qq && apt-get download prometheus))"
        " && dpkg-deb --extract prometheus_*.deb .",
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert result.returncode == 0, f"promtool could not be had: {result.stderr}"
    return str(folder / "usr" / "bin" / "promtool")


def check_config(promtool: str, config: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Has promtool check the configuration, with the alerts beside it as in the container."""
    (folder / "alerts.yml").write_text((DOCKER / "prometheus-alerts.yml").read_text())
    path = folder / "prometheus.yml"
    path.write_text(config.replace("/etc/prometheus/", f"{folder}/"))
    return subprocess.run(
        [promtool, "check", "config", path], capture_output=True, text=True, check=False
    )


@pytest.mark.cluster
def test_promtool_accepts_it(promtool: str, tmp_path: Path) -> None:
    result = check_config(promtool, PROMETHEUS.read_text(), tmp_path)
    assert result.returncode == 0, result.stderr
    assert "rules found" in result.stdout


@pytest.mark.cluster
def test_promtool_would_not_accept_a_slip(promtool: str, tmp_path: Path) -> None:
    broken = PROMETHEUS.read_text().replace("file_sd_configs", "files_sd_configs")
    result = check_config(promtool, broken, tmp_path)
    assert result.returncode != 0
    assert "files_sd_configs" in result.stderr
