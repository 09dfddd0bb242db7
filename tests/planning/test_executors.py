"""What Spark is told of a cluster: nothing that its nodes do not have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.planning.capacity import inject, round_of
from crawl.planning.cluster import Node
from crawl.planning.demand import Demand
from crawl.planning.executors import (
    DEFAULT_RESULT_BYTES,
    HEADROOM,
    JVM_CORES,
    MAX_CORES,
    MAX_THREADS,
    MIB,
    ExecutorPlan,
    NoRoom,
    filling_threads,
    plan_executors,
    spark_settings,
    usable_bytes,
)
from tests.planning.figures import COSTS, demands

SMALL = Demand(urls=1e6, hosts=1e4, pages_per_day=1e5)
BILLION = Demand(urls=10e9, hosts=50e6, pages_per_day=1e9)

nodes_of_any_size = st.builds(
    Node,
    cores=st.integers(1, 256),
    memory_bytes=st.floats(1e6, 4e12),
    threads=st.integers(1, 1000),
)


def planned(demand: Demand, node: Node, nodes: int) -> ExecutorPlan:
    found = plan_executors(demand, COSTS, node, nodes)
    assert isinstance(found, ExecutorPlan)
    return found


@given(demands(), nodes_of_any_size, st.integers(1, 10_000))
def test_no_node_is_promised_more_than_it_has(demand: Demand, node: Node, nodes: int) -> None:
    found = plan_executors(demand, COSTS, node, nodes)
    if isinstance(found, NoRoom):
        assert "has no room for an executor" in found.reason and "\n" not in found.reason
        return
    usable = usable_bytes(node)
    assert usable < node.memory_bytes
    assert found.executors >= 1 and found.cores >= 1
    assert found.executors_per_node * found.container_bytes <= usable
    assert found.executors_per_node * found.cores <= node.cores
    assert found.cores <= MAX_CORES
    # the driver's node: some executors less, and the driver
    beside = found.executors_per_node - found.displaced
    assert beside >= 0
    assert beside * found.container_bytes + found.driver_bytes <= usable
    assert found.executors == nodes * found.executors_per_node - found.displaced
    assert 1 <= found.num_fetchers <= max(1, found.executors * found.cores)


@given(demands(), nodes_of_any_size, st.integers(1, 10_000))
def test_every_task_has_the_memory_that_was_measured(
    demand: Demand, node: Node, nodes: int
) -> None:
    found = plan_executors(demand, COSTS, node, nodes)
    if isinstance(found, ExecutorPlan):
        for work in (inject(demand, COSTS), *round_of(demand, COSTS)):
            assert found.overhead_bytes >= found.cores * work.task_bytes * HEADROOM * (1 - 1e-9)


@given(demands(), nodes_of_any_size, st.integers(1, 1000), st.floats(1, 10))
def test_a_larger_node_never_runs_fewer_tasks(
    demand: Demand, node: Node, nodes: int, times: float
) -> None:
    """Less what their JVMs take."""
    found = plan_executors(demand, COSTS, node, nodes)
    if isinstance(found, ExecutorPlan):
        larger = planned(demand, replace(node, memory_bytes=node.memory_bytes * times), nodes)
        tasks = [each.executors_per_node * (each.cores - JVM_CORES) for each in (found, larger)]
        assert tasks[1] >= tasks[0]


@given(demands(), st.floats(0.1, 1))
def test_threads_fill_a_core_and_no_more(demand: Demand, use: float) -> None:
    threads = filling_threads(demand, COSTS, use)
    assert 1 <= threads <= max(1, min(MAX_THREADS, demand.hosts_in_round + 1))
    fetch = next(work for work in round_of(demand, COSTS) if work.phase == "fetch")
    if 1 < threads < min(MAX_THREADS, demand.hosts_in_round):
        assert (threads - 1) * fetch.cpu_s < fetch.waiting_s * use <= threads * fetch.cpu_s * 1.001


def test_sixteen_cores_with_plenty_of_memory() -> None:
    """Worker: 300 MB of parse and a fifth more, 344 MiB."""
    found = planned(SMALL, Node(cores=16, memory_bytes=64e9), 10)
    assert (found.executors_per_node, found.cores, found.displaced) == (4, 4, 0)
    assert found.worker_phase == "parse"
    values = {setting.name: setting.value for setting in spark_settings(found)}
    assert values == {
        "spark.executor.instances": "40",
        "spark.executor.cores": "4",
        "spark.executor.memory": "1536m",
        "spark.executor.memoryOverhead": f"{4 * 344}m",
        "spark.driver.memory": "1024m",
        "spark.driver.memoryOverhead": "553m",
        "spark.driver.maxResultSize": "1024m",
        "fetcher.threads.fetch": "50",
        "generate --num-fetchers": "160",
    }


def test_short_memory_leaves_cores_idle_and_says_so() -> None:
    """Of a bucket's 9.8 million records generate needs 150 bytes: 1.8 GB a task with a fifth
    more."""
    found = planned(BILLION, Node(cores=16, memory_bytes=24e9), 10)
    tasks = found.executors_per_node * found.cores
    assert 6 <= tasks <= 9
    reasons = {setting.name: setting.reason for setting in spark_settings(found)}
    assert f"{16 - tasks} idle for want of memory" in reasons["spark.executor.cores"]
    assert "generate" in reasons["spark.executor.memoryOverhead"]
    smaller = planned(replace(BILLION, buckets=16384), Node(cores=16, memory_bytes=24e9), 10)
    assert smaller.executors_per_node * smaller.cores == 16


def test_cores_that_no_executor_takes_are_left_over() -> None:
    found = planned(SMALL, Node(cores=7, memory_bytes=64e9), 2)
    assert (found.executors_per_node, found.cores) == (2, 3)
    assert spark_settings(found)[1].reason.endswith("; 1 left over")


def test_the_driver_takes_the_place_of_an_executor_where_nothing_else_is_left() -> None:
    tight = Node(cores=2, memory_bytes=3.0e9)
    found = planned(SMALL, tight, 5)
    assert found.displaced == 1
    assert found.executors == 5 * found.executors_per_node - 1
    assert "less 1 for the driver" in spark_settings(found)[0].reason


def test_the_only_node_has_the_driver_too() -> None:
    one = planned(SMALL, Node(cores=16, memory_bytes=8e9), 1)
    assert one.displaced == 0
    assert one.executors * one.container_bytes + one.driver_bytes <= 8e9
    no_room = plan_executors(SMALL, COSTS, Node(cores=16, memory_bytes=3e9), 1)
    assert isinstance(no_room, NoRoom)
    assert no_room.reason.startswith("a node of 3 GB has no room for an executor: the system")


def test_more_threads_take_more_memory() -> None:
    few, many = (planned(SMALL, Node(threads=threads), 2) for threads in (50, 500))
    assert many.worker_phase == "fetch"
    assert many.worker_bytes == pytest.approx(HEADROOM * (200e6 + 450 * MIB), abs=MIB)
    assert few.worker_bytes < many.worker_bytes


def test_results_of_very_many_tasks_have_room() -> None:
    assert planned(SMALL, Node(), 2).max_result_bytes == DEFAULT_RESULT_BYTES
    huge = Demand(urls=1e11, hosts=1e9, pages_per_day=1e10)
    found = planned(huge, Node(memory_bytes=2e12), 1000)
    assert found.max_result_bytes > DEFAULT_RESULT_BYTES
    assert found.driver_heap_bytes == 2 * found.max_result_bytes
