"""How many parts a fetch list has, by configuration and by what has registered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from crawl.spark.cores import (
    WAIT_KEY,
    Arrival,
    CoresRequest,
    StandaloneState,
    StandaloneWorker,
    await_slots,
    cores_request,
    parts_for,
    waiting_seconds,
)

STANDALONE = "spark://host:7077"
K8S = "k8s://https://host:6443"
DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}
MOST = 2**31 - 1


def standalone(*cores: int, others: int = 0, most: int = MOST) -> StandaloneState:
    workers = tuple(StandaloneWorker(count, 4096) for count in cores)
    return StandaloneState(workers, 1 + others, most, 1024)


@pytest.mark.parametrize(
    ("master", "settings", "state", "slots", "arrival"),
    [
        # what somebody wrote down
        ("yarn", {"spark.default.parallelism": "7"}, None, 7, "given"),
        ("local[4,4]", {}, None, None, "given"),
        ("local[4,4]", DYNAMIC, None, None, "given"),
        # YARN and Kubernetes count executors, two of one core where nobody says
        ("yarn", {}, None, 2, "soon"),
        ("yarn", {"spark.executor.instances": "4", "spark.executor.cores": "3"}, None, 12, "soon"),
        (K8S, {"spark.executor.instances": "4", "spark.executor.cores": "3"}, None, 12, "soon"),
        (K8S, {"spark.executor.instances": "5"}, None, 5, "soon"),
        # a task may take several cores, and never those of two executors
        (
            "yarn",
            {
                "spark.executor.instances": "4",
                "spark.executor.cores": "3",
                "spark.task.cpus": "2",
            },
            None,
            4,
            "soon",
        ),
        # standalone: spark.cores.max in whole executors, else all cores of all workers
        (STANDALONE, {"spark.cores.max": "16"}, None, 16, "soon"),
        (STANDALONE, {"spark.cores.max": "16"}, standalone(4), 16, "soon"),
        (STANDALONE, {"spark.cores.max": "16", "spark.executor.cores": "5"}, None, 15, "soon"),
        (STANDALONE, {"spark.cores.max": "16", "spark.task.cpus": "4"}, None, 4, "soon"),
        (STANDALONE, {}, standalone(8, 8), 16, "soon"),
        (STANDALONE, {}, standalone(8, 8, most=10), 10, "soon"),
        (STANDALONE, {"spark.executor.cores": "3"}, standalone(8, 8), 12, "soon"),
        (STANDALONE, {"spark.executor.cores": "1"}, standalone(8), 4, "soon"),  # for its memory
        (STANDALONE, {}, standalone(8, 8, others=1), None, "soon"),
        (STANDALONE, {}, standalone(), None, "soon"),
        (STANDALONE, {}, None, None, "soon"),
        ("spark://one:7077,two:7077", {}, standalone(8, 8), 16, "soon"),
        ("local-cluster[3,2,1024]", {}, None, 6, "soon"),
        # dynamic allocation: what it may grow to, or what it begins with
        ("yarn", {**DYNAMIC, "spark.dynamicAllocation.maxExecutors": "9"}, None, 9, "on demand"),
        (
            K8S,
            {
                **DYNAMIC,
                "spark.dynamicAllocation.maxExecutors": "9",
                "spark.dynamicAllocation.initialExecutors": "1",
                "spark.executor.cores": "4",
            },
            None,
            36,
            "on demand",
        ),
        (STANDALONE, {**DYNAMIC, "spark.cores.max": "12"}, None, 12, "on demand"),
        ("yarn", DYNAMIC, None, 2, "on demand"),
        (
            "yarn",
            {**DYNAMIC, "spark.dynamicAllocation.initialExecutors": "6"},
            None,
            6,
            "on demand",
        ),
        ("yarn", {**DYNAMIC, "spark.executor.instances": "5"}, None, 5, "on demand"),
        # a manager that we do not know
        ("other://host", {}, None, None, "soon"),
        ("other://host", {"spark.executor.instances": "3"}, None, 3, "soon"),
    ],
)
def test_what_is_asked_for(
    master: str,
    settings: Mapping[str, str],
    state: StandaloneState | None,
    slots: int | None,
    arrival: str,
) -> None:
    found = cores_request(master, settings, state)
    assert (found.slots, found.arrival) == (slots, Arrival(arrival))


def test_only_what_may_grow_for_ever_is_unbounded() -> None:
    assert not cores_request("yarn", DYNAMIC).is_bounded
    bounded = {**DYNAMIC, "spark.dynamicAllocation.maxExecutors": "9"}
    assert cores_request("yarn", bounded).is_bounded
    assert cores_request("yarn", {}).is_bounded


@pytest.mark.parametrize(
    ("slots", "arrival", "registered", "parts"),
    [
        (7, "given", 2, 7),
        (None, "given", 4, 4),
        (16, "soon", 16, 16),
        (16, "soon", 8, 8),  # it did not come
        (16, "soon", 0, 16),
        (None, "soon", 8, 8),
        (None, "soon", 0, 2),
        (36, "on demand", 1, 36),
        (6, "on demand", 10, 10),
    ],
)
def test_parts(slots: int | None, arrival: str, registered: int, parts: int) -> None:
    assert parts_for(CoresRequest(slots, Arrival(arrival)), registered) == parts


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(None, 30), ("45s", 45), ("500ms", 0.5), ("2min", 120), ("1h", 3600), ("250", 0.25)],
)
def test_how_long_they_are_waited_for(written: str | None, seconds: float) -> None:
    assert waiting_seconds({} if written is None else {WAIT_KEY: written}) == seconds


@dataclass
class LateCluster:
    """A cluster whose executors register at given moments."""

    arrivals: Mapping[float, int]
    """second → slots of an executor that registers then"""
    master: str = STANDALONE
    settings: Mapping[str, str] = field(default_factory=dict)
    workers: Mapping[float, int] = field(default_factory=dict)
    """second → cores of a worker that the master knows from then on"""
    now: float = 0.0
    notices: list[str] = field(default_factory=list)

    def registered(self) -> int:
        return sum(slots for second, slots in self.arrivals.items() if second <= self.now)

    def standalone_state(self) -> StandaloneState | None:
        known = [cores for second, cores in self.workers.items() if second <= self.now]
        return standalone(*known) if self.workers else None

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds

    def parts(self, wait_s: float = 30.0) -> int:
        return await_slots(
            self, wait_s, notice=self.notices.append, monotonic=lambda: self.now, sleep=self.sleep
        )


def test_executors_that_register_late_are_counted() -> None:
    settings = {"spark.executor.instances": "2", "spark.executor.cores": "8"}
    cluster = LateCluster({0.0: 8, 12.0: 8}, "yarn", settings)
    assert cluster.registered() == 8, "what Spark says a moment after the session is open"
    assert cluster.parts() == 16
    assert 12 <= cluster.now < 13
    assert cluster.notices == ["waiting for executors: 8 of 16 task slots, up to 30 s"]


def test_all_workers_of_a_standalone_cluster_are_waited_for() -> None:
    cluster = LateCluster({1.5: 8, 4.0: 8, 9.0: 4}, workers={0.0: 8, 0.1: 8, 3.0: 4})
    assert cluster.parts() == 20
    assert cluster.notices == ["waiting for executors: 0 of 16 task slots, up to 30 s"]


def test_who_is_there_in_a_moment_is_not_worth_a_line() -> None:
    cluster = LateCluster({0.0: 1, 0.5: 1}, settings={"spark.cores.max": "2"})
    assert cluster.parts() == 2
    assert cluster.notices == []


def test_what_never_comes_is_not_waited_for_for_ever() -> None:
    cluster = LateCluster({0.0: 8}, settings={"spark.cores.max": "16"})
    assert cluster.parts() == 8
    assert 30 <= cluster.now < 31
    waiting, in_vain = cluster.notices
    assert waiting == "waiting for executors: 8 of 16 task slots, up to 30 s"
    assert in_vain.startswith("only 8 of 16 task slots after 30 s: 8 parts a fetch list")


def test_a_cluster_without_any_executor_is_not_waited_for_for_ever() -> None:
    cluster = LateCluster({}, "yarn", {"spark.executor.instances": "3"})
    assert cluster.parts() == 3
    assert cluster.notices[-1].startswith("no executor after 30 s: 3 parts a fetch list")


def test_a_session_waits_once() -> None:
    cluster = LateCluster({0.0: 8}, settings={"spark.cores.max": "16"}, now=100.0)
    assert cluster.parts(wait_s=0.0) == 8
    assert cluster.now == 100.0 and cluster.notices == []


def test_a_master_that_tells_nothing_still_gives_one_executor() -> None:
    cluster = LateCluster({5.0: 8})
    assert cluster.parts() == 8
    assert cluster.notices == ["waiting for executors: 0 task slots, up to 30 s"]


def test_dynamic_allocation_is_not_waited_for() -> None:
    bound = {**DYNAMIC, "spark.dynamicAllocation.maxExecutors": "40"}
    bounded, unbounded = LateCluster({}, "yarn", bound), LateCluster({0.0: 3}, "yarn", DYNAMIC)
    assert (bounded.parts(), unbounded.parts()) == (40, 3)
    assert bounded.now == unbounded.now == 0.0
    assert bounded.notices == []
    assert unbounded.notices == [
        "dynamic allocation has no bound: 3 parts a fetch list;"
        " spark.dynamicAllocation.maxExecutors or --num-fetchers sets another number"
    ]
