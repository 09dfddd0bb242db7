"""How Spark is told what the nodes have: executors, their memory, the driver's, and the threads
of a fetch. Pure arithmetic over the measured costs; every setting comes with its reason.

Rows live in Python workers, one a core, beside the executor's JVM, which moves blocks of bytes. So
the memory of a task is not heap but overhead. `spark.executor.pyspark.memory` is left alone: it
limits the address space of a worker, which the stacks of a fetch's threads and what Arrow sets
aside fill long before memory is short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crawl.planning.capacity import PhaseWork, inject, round_of
from crawl.planning.cluster import Node
from crawl.planning.costs import Costs
from crawl.planning.demand import Demand
from crawl.planning.driver import MEMORY_PER_BYTE

MIB = 1 << 20
ENDLESS = 1 << 80
"""Bytes: more than any node has."""
SYSTEM_SHARE = 0.1
"""Of a node's memory: the system, its page cache, and the cluster manager's own agent."""
MIN_FOR_SYSTEM = 1024 * MIB
MAX_CORES = 5
"""Of an executor: the tasks and the blocks of all its cores are lost together."""
JVM_CORES = 0.25
"""What a JVM takes of the cores for itself: few large ones are better than many small."""
HEAP_BYTES = 512 * MIB
"""Of an executor's JVM before it has a task: Spark sets 300 MiB of it aside for itself."""
HEAP_BYTES_PER_CORE = 256 * MIB
"""Blocks on their way: 48 MiB that a task asks others for at a time, what it sorts by
destination, and what the store's client buffers."""
HEADROOM = 1.2
"""Over the peaks that were measured."""
MEASURED_THREADS = 50
"""With so many the memory of a fetch task was measured."""
BYTES_PER_THREAD = MIB
"""Of every thread beyond: its stack, its connection, and the page that it receives. Assumed."""
MAX_THREADS = 200
"""Of a fetch task: it is one Python process, and more were never measured."""
RESULT_BYTES_PER_TASK = 4 << 10
"""The size of a task's result: names and sums, never rows. In the tests' crawls Spark
counted up to 2.6 kB."""
DEFAULT_RESULT_BYTES = 1024 * MIB
"""Spark's own limit, below which there is no reason to go."""
DRIVER_HEAP_BYTES = 1024 * MIB
DRIVER_PYTHON_BYTES = 512 * MIB
"""Of the driver's Python before it knows of a task."""


@dataclass(frozen=True, slots=True)
class SparkSetting:
    """A setting to submit with, and why it is that."""

    name: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutorPlan:
    """Executors of one size on all nodes, and the driver on one of them."""

    node: Node
    nodes: int
    executors_per_node: int
    displaced: int
    """Executors that the driver takes the place of."""
    cores: int
    """Of an executor."""
    worker_phase: str
    """The phase whose tasks need the most memory."""
    worker_bytes: int
    """Memory of one Python worker in it."""
    driver_overhead_bytes: int
    result_bytes: int
    """What the tasks of a step tell the driver, all together."""
    filling_threads: int
    latency_s: float
    num_fetchers: int

    @property
    def executors(self) -> int:
        return self.nodes * self.executors_per_node - self.displaced

    @property
    def heap_bytes(self) -> int:
        return _heap_bytes(self.cores)

    @property
    def overhead_bytes(self) -> int:
        return self.cores * self.worker_bytes

    @property
    def container_bytes(self) -> int:
        """What the cluster manager sets aside for an executor."""
        return self.heap_bytes + self.overhead_bytes

    @property
    def max_result_bytes(self) -> int:
        return max(DEFAULT_RESULT_BYTES, self.result_bytes)

    @property
    def driver_heap_bytes(self) -> int:
        return _driver_heap_bytes(self.result_bytes)

    @property
    def driver_bytes(self) -> int:
        return self.driver_heap_bytes + self.driver_overhead_bytes


@dataclass(frozen=True, slots=True)
class NoRoom:
    """A node is too small for one executor, or for the driver beside it."""

    reason: str


def filling_threads(demand: Demand, costs: Costs, use: float) -> int:
    """Threads of a fetch task that keep its share of a core busy while hosts let them wait: as
    many as requests are worked on in the time of an answer, and no more than there are hosts."""
    (fetch,) = (work for work in round_of(demand, costs) if work.phase == "fetch")
    most = min(float(MAX_THREADS), demand.hosts_in_round)
    threads = fetch.waiting_s * use / fetch.cpu_s if fetch.cpu_s > 0 else most
    return max(1, math.ceil(min(threads, most)))


def plan_executors(demand: Demand, costs: Costs, node: Node, nodes: int) -> ExecutorPlan | NoRoom:
    """The executors with which most tasks run at once, less what their JVMs take."""
    works = (inject(demand, costs), *round_of(demand, costs))
    largest = max(works, key=lambda work: _worker_bytes(work, node))
    worker = _worker_bytes(largest, node)
    usable = usable_bytes(node)
    result = _result_bytes(works, node, nodes)
    driver_overhead = _driver_overhead_bytes(works)
    driver = _driver_heap_bytes(result) + driver_overhead
    # the only node has the driver, too
    per_node, cores = _fullest(node, usable - driver if nodes == 1 else usable, worker)
    if per_node == 0 or driver > usable:
        return NoRoom(_why_not(node, largest, worker, driver))
    container = _heap_bytes(cores) + cores * worker
    spare = usable - per_node * container
    displaced = math.ceil(max(0, driver - spare) / container) if nodes > 1 else 0
    slots = (nodes * per_node - displaced) * cores
    return ExecutorPlan(
        node=node,
        nodes=nodes,
        executors_per_node=per_node,
        displaced=displaced,
        cores=cores,
        worker_phase=largest.phase,
        worker_bytes=worker,
        driver_overhead_bytes=driver_overhead,
        result_bytes=result,
        filling_threads=filling_threads(demand, costs, node.use),
        latency_s=demand.pace.latency_s,
        num_fetchers=max(1, min(slots, math.ceil(demand.hosts_in_round))),
    )


def usable_bytes(node: Node) -> int:
    """Of a node's memory: what the cluster manager may hand out, on YARN as
    `yarn.nodemanager.resource.memory-mb`."""
    return math.floor(node.memory_bytes - max(MIN_FOR_SYSTEM, SYSTEM_SHARE * node.memory_bytes))


def spark_settings(plan: ExecutorPlan) -> tuple[SparkSetting, ...]:
    """What to submit with; each reason is one line."""
    return (
        SparkSetting("spark.executor.instances", str(plan.executors), _why_so_many(plan)),
        SparkSetting("spark.executor.cores", str(plan.cores), _why_so_large(plan)),
        SparkSetting(
            "spark.executor.memory",
            _mebibytes(plan.heap_bytes),
            f"the JVM moves blocks: {_mebibytes(HEAP_BYTES)} and"
            f" {_mebibytes(HEAP_BYTES_PER_CORE)} a core",
        ),
        SparkSetting(
            "spark.executor.memoryOverhead",
            _mebibytes(plan.overhead_bytes),
            f"{plan.cores} x {_mebibytes(plan.worker_bytes)} for Python: what a task of"
            f" {plan.worker_phase} was measured to need, and a fifth more",
        ),
        SparkSetting(
            "spark.driver.memory",
            _mebibytes(plan.driver_heap_bytes),
            "it schedules tasks and is told of their ends",
        ),
        SparkSetting(
            "spark.driver.memoryOverhead",
            _mebibytes(plan.driver_overhead_bytes),
            "its Python knows every task of a phase, and the files that it wrote",
        ),
        SparkSetting(
            "spark.driver.maxResultSize",
            _mebibytes(plan.max_result_bytes),
            f"{RESULT_BYTES_PER_TASK >> 10} kB a task, and Spark's own limit at least",
        ),
        SparkSetting(
            "fetcher.threads.fetch",
            str(plan.node.threads),
            f"{plan.filling_threads} keep a core busy where answers take {plan.latency_s:g} s",
        ),
        SparkSetting(
            "generate --num-fetchers",
            str(plan.num_fetchers),
            "a part for every core, and a host at least for every part",
        ),
    )


def _why_so_many(plan: ExecutorPlan) -> str:
    reason = f"{plan.executors_per_node} on each of {plan.nodes:,} nodes"
    return f"{reason}, less {plan.displaced} for the driver" if plan.displaced else reason


def _why_so_large(plan: ExecutorPlan) -> str:
    reason = f"{plan.node.cores} cores a node, at most {MAX_CORES} in a JVM: they are lost together"
    idle = plan.node.cores - plan.executors_per_node * plan.cores
    if not idle:
        return reason
    is_short = _fullest(plan.node, ENDLESS, 0) != (plan.executors_per_node, plan.cores)
    return f"{reason}; {idle} {'idle for want of memory' if is_short else 'left over'}"


def _fullest(node: Node, usable: int, worker: int) -> tuple[int, int]:
    """Executors on a node and cores of each: most tasks at once, of which every JVM costs some."""
    counts = {
        cores: max(0, min(node.cores // cores, usable // (_heap_bytes(cores) + cores * worker)))
        for cores in range(1, min(MAX_CORES, node.cores) + 1)
    }
    cores = max(counts, key=lambda cores: (counts[cores] * (cores - JVM_CORES), cores))
    return counts[cores], cores


def _heap_bytes(cores: int) -> int:
    return HEAP_BYTES + cores * HEAP_BYTES_PER_CORE


def _worker_bytes(work: PhaseWork, node: Node) -> int:
    """Memory of the Python worker that runs a task of this phase, and of its children."""
    size = work.task_bytes
    if work.phase == "fetch":
        size += max(0, node.threads - MEASURED_THREADS) * BYTES_PER_THREAD
    return _whole(size * HEADROOM)


def _result_bytes(works: Sequence[PhaseWork], node: Node, nodes: int) -> int:
    tasks = max(work.tasks for work in works if math.isfinite(work.tasks))
    return _whole(max(tasks, nodes * node.cores) * RESULT_BYTES_PER_TASK)


def _driver_heap_bytes(results: int) -> int:
    """Room for results as they come and as Python takes them."""
    return max(DRIVER_HEAP_BYTES, 2 * results)


def _driver_overhead_bytes(works: Sequence[PhaseWork]) -> int:
    passing = max(work.driver_bytes for work in works)
    return _whole(DRIVER_PYTHON_BYTES + passing * MEMORY_PER_BYTE)


def _whole(size: float) -> int:
    """In whole mebibytes, as Spark's settings are given."""
    return math.ceil(size / MIB) * MIB


def _why_not(node: Node, largest: PhaseWork, worker: int, driver: int) -> str:
    return (
        f"a node of {_gigabytes(node.memory_bytes)} has no room for an executor: the system"
        f" leaves {_gigabytes(max(0, usable_bytes(node)))}, a task of {largest.phase} with its"
        f" JVM needs {_gigabytes(_heap_bytes(1) + worker)} and the driver {_gigabytes(driver)};"
        " more --buckets make tasks smaller"
    )


def _mebibytes(size: float) -> str:
    return f"{size / MIB:.0f}m"


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.3g} GB"
