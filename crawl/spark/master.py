"""The Spark master a user names: checked before a JVM is started, because Spark itself
answers a wrong one after many seconds and with a stack trace."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping

from crawl.errors import EnvironmentFault, UsageError

TASK_ATTEMPTS = 4
"""Spark's own number on a cluster; a local master would give a lost task no second try."""

_LAST_PORT = 65_535
_FORMS = "local, local[N], local[*], spark://host:port, yarn, k8s://https://host:port"
_LOCAL = re.compile(r"local(?:\[(\*|[1-9]\d*)(?:,([1-9]\d*))?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[(\d+),(\d+),\d+\]")
_STANDALONE = re.compile(r"spark://([^,:/]+:\d+(?:,[^,:/]+:\d+)*)/?")
_KUBERNETES = re.compile(r"k8s://\S+")


def is_submitted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether spark-submit has started this process: its JVM is there, its options stand."""
    return "PYSPARK_GATEWAY_PORT" in environment


def is_local(master: str) -> bool:
    """Whether everything runs inside the driver's own JVM."""
    return master == "local" or master.startswith("local[")


def local_cluster_size(master: str) -> tuple[int, int] | None:
    """Executors and cores of each of `local-cluster[N,C,M]`, Spark's cluster for tests; None for
    any other master."""
    match = _LOCAL_CLUSTER.fullmatch("".join(master.split()))
    return (int(match.group(1)), int(match.group(2))) if match else None


def standalone_addresses(master: str) -> list[str]:
    """host:port of the masters of a standalone cluster; none for any other."""
    match = _STANDALONE.fullmatch(master)
    return match.group(1).split(",") if match else []


def check_master(master: str, environment: Mapping[str, str] = os.environ) -> str:
    """The master's address as Spark takes it; UsageError or EnvironmentFault for a wrong one."""
    master = "".join(master.split())
    local = _LOCAL.fullmatch(master)
    if local:
        return f"local[{local.group(1) or 1},{local.group(2) or TASK_ATTEMPTS}]"
    if _LOCAL_CLUSTER.fullmatch(master) or _KUBERNETES.fullmatch(master):
        return master
    if master == "yarn":
        if not (environment.get("HADOOP_CONF_DIR") or environment.get("YARN_CONF_DIR")):
            raise EnvironmentFault("master yarn needs HADOOP_CONF_DIR or YARN_CONF_DIR to be set")
        return master
    standalone = _STANDALONE.fullmatch(master)
    if standalone:
        _require_an_answer(standalone.group(1).split(","))
        return master
    raise UsageError(f"unknown Spark master {master!r}: use {_FORMS}")


def _require_an_answer(addresses: list[str], timeout: float = 3.0) -> None:
    """One of the masters of a standalone cluster (several stand by for one) must answer."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        if int(port) > _LAST_PORT:
            continue  # the system would cut it down to another one
        try:
            with socket.create_connection((host, int(port)), timeout=timeout):
                return
        except OSError:
            continue
    raise EnvironmentFault(f"no Spark master answers at {', '.join(addresses)}")
