"""How many tasks run at the same time on a session's cluster: as many parts has a fetch list.

Spark's own `defaultParallelism` counts the executors that have registered by now, and they come
seconds after the session. So this is asked of the configuration, and of a standalone master, and
what they promise is waited for, not for ever: what has come by then counts. More parts than
that would work, one after the other, but under a time limit the last would be left out each time.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from crawl.clock import SystemClock
from crawl.spark.live_workers import LiveWorkers
from crawl.spark.master import is_local, local_cluster_size, standalone_addresses

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

T = TypeVar("T")

_log = logging.getLogger(__name__)

WAIT_KEY = "spark.scheduler.maxRegisteredResourcesWaitingTime"
"""How long Spark itself waits for executors, where it does."""
_WAIT_S = 30.0
_LOOK_EVERY_S = 0.2
_QUIET_S = 1.0
"""A wait that is shorter is not worth a line."""
_FEWEST = 2
"""Executors of YARN and Kubernetes where nobody says how many; cores where nothing is known."""
_TIME = re.compile(r"(\d+)\s*(ms|s|m|min|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class Arrival(Enum):
    """When the cores that a session asks for are there."""

    GIVEN = "given"
    """They are a number that somebody wrote down, or there already."""
    SOON = "soon"
    """The cluster gives them as soon as it can."""
    ON_DEMAND = "on demand"
    """Dynamic allocation: tasks that wait bring them."""


@dataclass(frozen=True, slots=True)
class CoresRequest:
    """What a session asks its cluster for."""

    slots: int | None
    """Tasks at the same time; None where the configuration does not say."""
    arrival: Arrival
    is_bounded: bool = True
    """Whether it never becomes more."""


@dataclass(frozen=True, slots=True)
class StandaloneWorker:
    """What a worker of a standalone cluster lends to executors."""

    cores: int
    memory_mb: int


@dataclass(frozen=True, slots=True)
class StandaloneState:
    """What a standalone master tells of its cluster."""

    workers: tuple[StandaloneWorker, ...]
    """Those alive."""
    applications: int
    """That run or wait: this one, and others."""
    most_cores: int
    """That this one may have."""
    executor_memory_mb: int


class ClusterView(Protocol):
    """What can be seen of a cluster from a session."""

    master: str
    settings: Mapping[str, str]

    def registered(self) -> int:
        """Tasks that can run now at the same time."""

    def standalone_state(self) -> StandaloneState | None:
        """What a standalone master tells; None where there is none or it does not."""


def cores_request(
    master: str, settings: Mapping[str, str], standalone: StandaloneState | None = None
) -> CoresRequest:
    """What the configuration asks of that master, or a standalone master gives without a word."""
    if "spark.default.parallelism" in settings:
        return CoresRequest(int(settings["spark.default.parallelism"]), Arrival.GIVEN)
    if is_local(master):
        return CoresRequest(None, Arrival.GIVEN)
    if settings.get("spark.dynamicAllocation.enabled", "").lower() == "true":
        return _request_on_demand(master, settings)
    fixed = local_cluster_size(master)
    if fixed is not None:
        executors, cores = fixed
        return CoresRequest(executors * _slots(cores, settings), Arrival.SOON)
    if standalone_addresses(master):
        return CoresRequest(_standalone_slots(settings, standalone), Arrival.SOON)
    if master.startswith(("yarn", "k8s://")) or "spark.executor.instances" in settings:
        executors = int(settings.get("spark.executor.instances", _FEWEST))
        return CoresRequest(executors * _executor_slots(settings), Arrival.SOON)
    return CoresRequest(None, Arrival.SOON)


def parts_for(request: CoresRequest, registered: int) -> int:
    """How many parts a fetch list has that is made now."""
    if request.arrival is Arrival.GIVEN:
        return request.slots or max(1, registered)
    if request.arrival is Arrival.ON_DEMAND:
        return max(request.slots or _FEWEST, registered)
    return registered or request.slots or _FEWEST


def await_slots(
    cluster: ClusterView,
    wait_s: float,
    *,
    notice: Callable[[str], None],
    monotonic: Callable[[], float],
    sleep: Callable[[float], None],
) -> int:
    """`parts_for` once the executors that were asked for are there, or `wait_s` is over."""
    began = monotonic()
    is_announced = False
    while True:
        registered = cluster.registered()
        remaining = began + wait_s - monotonic()
        request = cores_request(
            cluster.master, cluster.settings, cluster.standalone_state() if remaining > 0 else None
        )
        if request.arrival is not Arrival.SOON or registered >= (request.slots or 1):
            break
        if remaining <= 0:
            if wait_s > 0:
                notice(_in_vain(request, registered, wait_s))
            break
        if not is_announced and monotonic() - began >= min(_QUIET_S, wait_s / 2):
            is_announced = True
            of = "" if request.slots is None else f" of {request.slots}"
            notice(f"waiting for executors: {registered}{of} task slots, up to {wait_s:.0f} s")
        sleep(min(_LOOK_EVERY_S, remaining))
    if not request.is_bounded and wait_s > 0:
        notice(
            f"dynamic allocation has no bound: {parts_for(request, registered)} parts a fetch list;"
            " spark.dynamicAllocation.maxExecutors or --num-fetchers sets another number"
        )
    return parts_for(request, registered)


def task_slots(spark: SparkSession, notice: Callable[[str], None]) -> int:
    """How many tasks this session can run at the same time. A session waits for its executors
    once; `notice` is told if that takes time, and what did not come."""
    context = spark.sparkContext
    clock = SystemClock()
    cluster = _SparkCluster(context)
    now = clock.monotonic()
    until = _waits_until.setdefault(context, now + waiting_seconds(cluster.settings))
    return await_slots(
        cluster, max(0.0, until - now), notice=notice, monotonic=clock.monotonic, sleep=time.sleep
    )


def waiting_seconds(settings: Mapping[str, str]) -> float:
    """For how long executors are waited for."""
    match = _TIME.fullmatch(settings.get(WAIT_KEY, "").strip().lower())
    return int(match.group(1)) * _SECONDS[match.group(2) or "ms"] if match else _WAIT_S


_waits_until: WeakKeyDictionary[SparkContext, float] = WeakKeyDictionary()


def _request_on_demand(master: str, settings: Mapping[str, str]) -> CoresRequest:
    prefix = "spark.dynamicAllocation."
    a_slot = _executor_slots(settings)
    most = _number(settings, prefix + "maxExecutors", math.inf) * a_slot
    if standalone_addresses(master) and "spark.cores.max" in settings:
        most = min(most, _slots(int(settings["spark.cores.max"]), settings))
    if most < math.inf:
        return CoresRequest(max(1, int(most)), Arrival.ON_DEMAND)
    least = max(
        _number(settings, prefix + name, 0.0) for name in ("minExecutors", "initialExecutors")
    )
    executors = max(least, _number(settings, "spark.executor.instances", 0.0), _FEWEST)
    return CoresRequest(int(executors) * a_slot, Arrival.ON_DEMAND, is_bounded=False)


def _standalone_slots(settings: Mapping[str, str], state: StandaloneState | None) -> int | None:
    """A standalone master gives an application all cores of its workers, or `spark.cores.max`."""
    if "spark.cores.max" in settings:
        return _whole_executors(int(settings["spark.cores.max"]), settings)
    if state is None or state.applications > 1:
        return None  # it may be that others have them
    cores = sum(_lent_cores(worker, state, settings) for worker in state.workers)
    most = min(cores, state.most_cores)
    return _whole_executors(most, settings) if most else None


def _lent_cores(
    worker: StandaloneWorker, state: StandaloneState, settings: Mapping[str, str]
) -> int:
    cores = int(settings.get("spark.executor.cores", worker.cores)) or 1
    return cores * min(worker.cores // cores, worker.memory_mb // max(1, state.executor_memory_mb))


def _whole_executors(cores: int, settings: Mapping[str, str]) -> int:
    if "spark.executor.cores" not in settings:
        return _slots(cores, settings)
    return max(1, cores // int(settings["spark.executor.cores"])) * _executor_slots(settings)


def _executor_slots(settings: Mapping[str, str]) -> int:
    return _slots(int(settings.get("spark.executor.cores", 1)), settings)


def _slots(cores: int, settings: Mapping[str, str]) -> int:
    return max(1, cores // max(1, int(settings.get("spark.task.cpus", 1))))


def _number(settings: Mapping[str, str], key: str, usual: float) -> float:
    return float(settings.get(key, usual))


def _in_vain(request: CoresRequest, registered: int, wait_s: float) -> str:
    parts = parts_for(request, registered)
    of = "no executor" if not registered else f"only {registered} of {request.slots} task slots"
    return (
        f"{of} after {wait_s:.0f} s: {parts} {'part' if parts == 1 else 'parts'} a fetch list;"
        f" {WAIT_KEY} is how long they are waited for"
    )


class _SparkCluster:
    """The cluster of a session, by what its JVM tells: by methods, too, that no promise of
    Spark's covers. Where one is not there, its answer is None."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._live = LiveWorkers()
        self.master = str(context.master)
        self.settings: Mapping[str, str] = dict(context.getConf().getAll())

    def registered(self) -> int:
        if not is_local(self.master):
            counted = self._ask_cluster(self._executor_slots)
            if counted is not None:
                return counted
        return _slots(int(self._context.defaultParallelism), self.settings)

    def standalone_state(self) -> StandaloneState | None:
        addresses = standalone_addresses(self.master)
        if not addresses or "spark.cores.max" in self.settings:
            return None
        states = (self._ask_cluster(partial(self._state_at, at)) for at in addresses)
        return next((state for state in states if state is not None), None)

    def _executor_slots(self) -> int:
        store = self._context._jsc.sc().statusStore()
        active = store.executorList(True)
        executors = (active.apply(place) for place in range(int(active.size())))
        return sum(int(each.maxTasks()) for each in executors if str(each.id()) != "driver")

    def _state_at(self, address: str) -> StandaloneState | None:
        spark, gateway = self._context._jsc.sc(), self._context._gateway
        java: Any = gateway.jvm  # type: ignore[union-attr]
        host, _, port = address.rpartition(":")
        at = java.org.apache.spark.rpc.RpcAddress(host, int(port))
        endpoint = spark.schedulerBackend().rpcEnv().setupEndpointRef(at, "Master")
        question = getattr(java.org.apache.spark.deploy, "DeployMessages$RequestMasterState$")
        any_class = getattr(java.scala.reflect, "ClassTag$")
        answer = endpoint.askSync(getattr(question, "MODULE$"), getattr(any_class, "MODULE$").Any())
        if str(answer.status().toString()) != "ALIVE":
            return None  # one that stands by
        applications = list(answer.activeApps())
        own = str(self._context.applicationId)
        # what is granted already does not travel, so what is left is all
        limits = [int(each.coresLeft()) for each in applications if str(each.id()) == own]
        workers = {(str(each.host()), int(each.port())): each for each in answer.workers()}
        alive = [workers[address] for address in sorted(self._live.among(workers))]
        return StandaloneState(
            tuple(StandaloneWorker(int(each.cores()), int(each.memory())) for each in alive),
            len(applications),
            limits[0] if limits else 0,
            int(spark.executorMemory()),
        )

    @staticmethod
    def _ask_cluster(ask: Callable[[], T | None]) -> T | None:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        try:
            return ask()
        except (Py4JError, AttributeError, TypeError) as error:
            _log.debug("the cluster does not tell its size: %s", error)
            return None
