"""The cluster of docker/compose.yaml: valid, pinned, closed, and in step with the checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import crawl
from crawl.config import Config
from crawl.config.load import load
from crawl.declared import declared_properties
from crawl.fetcher.values.settings import HTTP_AGENT_NAME
from crawl.service.stores.address import parse_address
from tests.docker.composition import (
    COMPOSE,
    EXAMPLE,
    SECRETS,
    composed,
    is_bind,
    mounts,
    services,
    variables,
)
from tests.docker.dockerfile import DOCKER, ROOT, stages
from tests.docs.checking import crawl_fault

CHECKER = Path(sys.executable).parent / "check-jsonschema"
NAMES = sorted(services())
OURS = [name for name, service in services().items() if "build" in service]


def checked(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Checks the files by the Compose specification's own schema."""
    return subprocess.run(
        [CHECKER, "--builtin-schema", "vendor.compose-spec", *paths],
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_a_compose_file(tmp_path: Path) -> None:
    filled_in = tmp_path / "compose.yaml"
    filled_in.write_text(yaml.safe_dump(composed()))
    result = checked(COMPOSE, filled_in)
    assert result.returncode == 0, result.stdout


def test_one_with_a_slip_is_not(tmp_path: Path) -> None:
    broken = composed()
    broken["services"]["s3"]["healtcheck"] = broken["services"]["s3"].pop("healthcheck")
    path = tmp_path / "compose.yaml"
    path.write_text(yaml.safe_dump(broken))
    result = checked(path)
    assert result.returncode == 1
    assert "healtcheck" in result.stdout


def test_all_that_was_asked_for_is_there() -> None:
    assert set(NAMES) == {
        *("spark-master", "spark-worker", "s3", "airflow", "prometheus", "grafana", "crawl"),
        *("kafka", "cassandra", "intake", "fetch", "lookup"),
    }
    assert services()["spark-worker"]["deploy"]["replicas"] == 2


@pytest.mark.parametrize("name", NAMES)
def test_an_image_is_ours_in_our_version_or_pinned(name: str) -> None:
    service = services()[name]
    _, _, tag = service["image"].partition(":")
    if name in OURS:
        assert tag == crawl.__version__
        build = service["build"]
        assert (DOCKER / build["context"]).resolve() == ROOT
        assert (ROOT / build["dockerfile"]).is_file()
        assert build["target"] in stages()
        assert set(build["args"]) <= set(stages()["installed"].variables)
        # the default of compose and that of the Dockerfile are one
        assert build["args"]["EXTRAS"] == stages()["installed"].variables["EXTRAS"]
    else:
        assert re.fullmatch(r"v?\d+(\.\d+)+", tag)


@pytest.mark.parametrize("name", NAMES)
def test_nobody_is_root_or_can_become_it(name: str) -> None:
    service = services()[name]
    assert re.fullmatch(r"[1-9]\d*:\d+", service["user"])
    if name in OURS:
        assert service["user"] == stages()["nutria"].values("USER")[-1]
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", NAMES)
def test_everybody_is_limited_and_looked_after(name: str) -> None:
    service = services()[name]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert service["networks"]
    assert set(service["networks"]) <= set(composed()["networks"])
    if service.get("profiles") == ["tools"]:
        # not a server: it ends by itself
        assert service["healthcheck"] == {"disable": True}
        assert service["restart"] == "no"
    else:
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", NAMES)
def test_whom_it_waits_for_can_be_healthy(name: str) -> None:
    for other, condition in services()[name].get("depends_on", {}).items():
        assert condition == {"condition": "service_healthy"}
        assert "test" in services()[other]["healthcheck"]
        assert set(services()[other]["networks"]) & set(services()[name]["networks"])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_mounted_is_there_and_cannot_be_changed(name: str) -> None:
    for source, target, is_read_only in mounts(services()[name]):
        if is_bind(source):
            assert (DOCKER / source).resolve().is_relative_to(ROOT)
            assert (DOCKER / source).exists()
            assert is_read_only
        elif source:
            assert source in composed()["volumes"]
        assert target.startswith("/")


def test_every_volume_and_network_is_used() -> None:
    used = {source for service in services().values() for source, _, _ in mounts(service)}
    assert set(composed()["volumes"]) <= used
    joined = {network for service in services().values() for network in service["networks"]}
    assert set(composed()["networks"]) == joined


@pytest.mark.parametrize("name", OURS)
def test_what_our_user_writes_to_is_its_own_in_the_image(name: str) -> None:
    (made,) = re.findall(
        r"--owner nutria --group nutria\s+([^&]+)", stages()["base"].values("RUN")[0]
    )
    owned = [target for source, target, _ in mounts(services()[name]) if not is_bind(source)]
    assert set(owned) <= set(made.split())
    if "read_only" in services()[name]:
        assert "/tmp" in services()[name]["tmpfs"]


def test_ports_are_loopbacks_and_differ() -> None:
    published = [port for service in services().values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in published)
    outside = [port.split(":")[1] for port in published]
    assert len(set(outside)) == len(outside) == 7


def test_what_is_published_is_what_the_health_check_asks() -> None:
    for service in services().values():
        for port in service.get("ports", []):
            address = next(word for word in service["healthcheck"]["test"] if "http://" in word)
            assert f"127.0.0.1:{port.split(':')[2]}/" in address


# ---- variables


def test_no_secret_has_a_default_or_is_written_down() -> None:
    needed = {name for name, (kind, _) in variables().items() if kind == "?"}
    assert needed == set(SECRETS)
    lines = EXAMPLE.read_text().splitlines()
    assert {line for line in lines if re.match(r"\w+=", line)} == {f"{name}=" for name in needed}
    for name in needed:
        with pytest.raises(KeyError, match=rf"{name}: copy docker/.env.example"):
            composed({each: value for each, value in SECRETS.items() if each != name})
    assert ".env" in (DOCKER / ".gitignore").read_text().splitlines()


def test_the_example_names_every_default() -> None:
    defaults = {name: text for name, (kind, text) in variables().items() if kind == "-"}
    example = dict(re.findall(r"^#(\w+)=(.*)$", EXAMPLE.read_text(), re.MULTILINE))
    assert example == defaults
    assert {kind for kind, _ in variables().values()} == {"?", "-"}


def test_variables_of_ours_are_read_by_somebody() -> None:
    code = "".join(
        path.read_text()
        for folder in ("crawl", "scripts/dags")
        for path in (ROOT / folder).rglob("*.py")
    )
    for service in services().values():
        for name in service.get("environment", {}):
            if name.startswith(("CRAWL_", "NUTRIA_")):
                assert f'"{name}"' in code


def test_all_who_touch_the_store_know_it() -> None:
    store = services()["s3"]
    port = next(word for word in store["command"] if word.startswith("-s3.port=")).split("=")[1]
    for name in ("spark-worker", "airflow", "crawl", "intake", "lookup"):
        environment = services()[name]["environment"]
        assert environment["AWS_ENDPOINT_URL"] == f"http://s3:{port}"
        for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            assert environment[key] == store["environment"][key]
        assert set(services()[name]["networks"]) & set(store["networks"])


# ---- the realtime lane

ROLES = ("intake", "fetch", "lookup")


def settings_of(role: str) -> dict[str, str]:
    """What a role is given by -D."""
    words = services()[role]["command"]
    given = [after for word, after in pairwise(words) if word == "-D"]
    return dict(each.split("=", 1) for each in given)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_called_as_the_command_wants_it(role: str) -> None:
    words = services()[role]["command"]
    assert words[words.index("--role") + 1] == role
    assert crawl_fault(words) == ""
    assert services()[role]["profiles"] == ["realtime"]
    (checked,) = [word for word in services()[role]["healthcheck"]["test"] if "http:" in word]
    assert f":{words[words.index('--port') + 1]}/readyz" in checked
    folder = services()[role]["environment"]["CRAWL_CONF_DIR"]
    assert ("./site", folder, True) in mounts(services()[role])


@pytest.mark.parametrize("role", ROLES)
def test_a_role_finds_the_brokers(role: str) -> None:
    host, port = settings_of(role)["service.kafka.servers"].split(":")
    environment = services()[host]["environment"]
    assert f"//{host}:{port}" in environment["KAFKA_ADVERTISED_LISTENERS"]
    assert f"PLAINTEXT://:{port}" in environment["KAFKA_LISTENERS"].split(",")
    assert set(services()[host]["networks"]) & set(services()[role]["networks"])


@pytest.mark.parametrize("role", ["intake", "lookup"])
def test_a_role_with_a_store_finds_it(role: str) -> None:
    address = parse_address(settings_of(role)["service.store"])
    ((host, port),) = address.hosts
    assert (address.scheme, port) == ("cassandra", None)
    assert address.options["dc"] == services()[host]["environment"]["CASSANDRA_DC"]
    assert set(services()[host]["networks"]) & set(services()[role]["networks"])
    assert settings_of("intake") == settings_of("lookup")


def test_who_fetches_knows_and_reaches_the_queue_alone() -> None:
    fetch = services()["fetch"]
    assert set(settings_of("fetch")) == {"service.kafka.servers"}
    assert set(fetch["environment"]) == {"CRAWL_CONF_DIR"}
    reached = {
        name
        for name, service in services().items()
        if set(service["networks"]) & set(fetch["networks"])
    }
    assert reached == {"kafka", *ROLES}
    assert fetch["deploy"]["replicas"] == 2
    assert "ports" not in fetch


def test_cassandra_acknowledges_what_is_on_its_disk() -> None:
    """On the file as it is delivered: what is written there is what the entry point edits."""
    (script,) = services()["cassandra"]["command"]
    delivered = "a: 1\ncommitlog_sync: periodic\ncommitlog_sync_period: 10000ms\nb: 2\n"
    edits = re.findall(r"-e '([^']+)'", script)
    done = subprocess.run(
        ["sed", *(word for edit in edits for word in ("-e", edit))],
        input=delivered,
        capture_output=True,
        text=True,
        check=True,
    )
    edited = yaml.safe_load(done.stdout)
    assert edited["commitlog_sync"] == "group"
    assert edited["commitlog_sync_group_window"] == "5ms"
    assert "commitlog_sync_period" not in edited


def test_one_broker_alone_acknowledges_what_is_on_its_disk() -> None:
    environment = services()["kafka"]["environment"]
    assert environment["KAFKA_LOG_FLUSH_INTERVAL_MESSAGES"] == "1"
    factors = {name: each for name, each in environment.items() if name.endswith("_FACTOR")}
    assert factors and set(factors.values()) == {"1"}
    assert ("kafka", environment["KAFKA_LOG_DIRS"], False) in mounts(services()["kafka"])


# ---- settings


def site() -> Config:
    return load((), DOCKER / "site", {}, extra=declared_properties)


def test_the_settings_of_its_crawls_are_valid() -> None:
    assert site()[HTTP_AGENT_NAME] == "", "who crawls must say who they are"


def test_crawls_go_to_its_master() -> None:
    command = services()["spark-master"]["command"]
    port = command[command.index("--port") + 1]
    address = f"spark://{services()['spark-master']['hostname']}:{port}"
    assert command[command.index("--host") + 1] == services()["spark-master"]["hostname"]
    assert site().spark_settings()["spark.master"] == address
    assert services()["spark-worker"]["command"][-1] == address


@pytest.mark.parametrize("name", ["airflow", "crawl"])
def test_services_that_run_commands_have_the_settings(name: str) -> None:
    folder = services()[name]["environment"]["CRAWL_CONF_DIR"]
    assert ("./site", folder, True) in mounts(services()[name])


def test_the_dags_lie_where_the_image_has_its_airflow() -> None:
    (source,) = [s for s, target, _ in mounts(services()["airflow"]) if target.endswith("/dags")]
    assert (DOCKER / source).resolve() == ROOT / "scripts" / "dags"
    (workdir,) = stages()["scheduler"].values("WORKDIR")
    assert (source, f"{workdir}/scripts/dags", True) in mounts(services()["airflow"])
