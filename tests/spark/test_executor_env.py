from __future__ import annotations

import re

import pytest

from crawl.spark.executor_env import executor_settings

SURROUNDINGS = {
    "AWS_ENDPOINT_URL": "http://store:9000",
    "AWS_REGION": "eu-north-1",
    "AWS_ACCESS_KEY_ID": "name",
    "AWS_SECRET_ACCESS_KEY": "word",
    "AWS_PROFILE": "a file of this machine",
    "HADOOP_USER_NAME": "crawler",
    "HADOOP_CONF_DIR": "/etc/hadoop",
    "AWS_SESSION_TOKEN": "",
    "PATH": "/bin",
}


def variables(master: str) -> dict[str, str]:
    found = executor_settings(master, SURROUNDINGS)
    prefix = "spark.executorEnv."
    return {key.removeprefix(prefix): found[key] for key in found if key.startswith(prefix)}


def test_a_local_master_has_them_already() -> None:
    assert executor_settings("local[*]", SURROUNDINGS) == {}


def test_a_standalone_cluster_is_given_all() -> None:
    env = variables("spark://host:7077")
    assert set(env) == set(SURROUNDINGS) - {"PATH", "AWS_PROFILE", "AWS_SESSION_TOKEN"}
    assert all(env[name] == SURROUNDINGS[name] for name in env)


@pytest.mark.parametrize("master", ["yarn", "k8s://https://host:443"])
def test_others_have_their_own_ways_with_secrets(master: str) -> None:
    env = variables(master)
    assert not {name for name in env if "KEY" in name or "TOKEN" in name}
    assert env["AWS_ENDPOINT_URL"] == "http://store:9000"
    assert env["HADOOP_USER_NAME"] == "crawler"
    assert ("HADOOP_CONF_DIR" in env) == (master != "yarn")


def test_credentials_are_not_shown() -> None:
    hidden = executor_settings("spark://host:7077", SURROUNDINGS)["spark.redaction.regex"]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        assert re.search(hidden, f"spark.executorEnv.{name}")
    assert not re.search(hidden, "spark.executorEnv.AWS_REGION")


def test_nothing_is_given_where_nothing_is_set() -> None:
    assert executor_settings("spark://host:7077", {"PATH": "/bin"}) == {}
