from __future__ import annotations

import socket

import pytest

from crawl.errors import EnvironmentFault, UsageError
from crawl.spark.master import check_master, is_local, is_submitted


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("local", "local[1,4]"),
        ("local[3]", "local[3,4]"),
        ("local[*]", "local[*,4]"),
        ("local[ 2 ]", "local[2,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("k8s://https://127.0.0.1:6443", "k8s://https://127.0.0.1:6443"),
    ],
)
def test_a_local_master_gets_spark_s_four_attempts(named: str, expected: str) -> None:
    assert check_master(named, {}) == expected


@pytest.mark.parametrize(
    "named",
    ["sparky", "", "local[0]", "local[-1]", "local[x]", "spark://", "spark://host", "SC://x"],
)
def test_an_unknown_master_is_answered_with_the_accepted_forms(named: str) -> None:
    with pytest.raises(UsageError, match=r"use local, local\[N\], local\[\*\], spark://host:port"):
        check_master(named, {})


def test_yarn_needs_the_cluster_s_configuration() -> None:
    assert check_master("yarn", {"HADOOP_CONF_DIR": "/etc/hadoop"}) == "yarn"
    with pytest.raises(EnvironmentFault, match="HADOOP_CONF_DIR"):
        check_master("yarn", {})


def test_a_master_that_does_not_answer_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(
            EnvironmentFault, match=rf"^no Spark master answers at 127.0.0.1:{port}$"
        ):
            check_master(f"spark://127.0.0.1:{port}", {})


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as answering, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        ports = silent.getsockname()[1], answering.getsockname()[1]
        named = f"spark://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}"
        assert check_master(named, {}) == named


def test_a_port_out_of_range_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as answering:
        port = answering.getsockname()[1] + 65_536  # as 16 bits it is the one that answers
        with pytest.raises(EnvironmentFault, match="no Spark master answers"):
            check_master(f"spark://127.0.0.1:{port}", {})


def test_only_this_process_is_local() -> None:
    assert is_local("local[2,4]")
    assert is_local("local")
    assert not is_local("local-cluster[2,1,1024]")
    assert not is_local("spark://127.0.0.1:7077")


def test_a_process_knows_that_it_was_submitted() -> None:
    assert is_submitted({"PYSPARK_GATEWAY_PORT": "40001"})
    assert not is_submitted({"PYSPARK_PYTHON": "python3"})
