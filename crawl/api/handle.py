"""A handle on a crawl: its folder, its settings and its engine, with which its methods, the
operations, are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from crawl.api.notebook import notebook_observer
from crawl.config import Config
from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.operations.events import Observer
from crawl.operations.face_words import in_python
from crawl.operations.operation import Operation
from crawl.operations.options import Face, read_options
from crawl.operations.registry import all_operations, find_method, operations_of
from crawl.operations.running import Running, perform
from crawl.operations.work import Work
from crawl.spark.engine import SparkEngine
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir


class Handle:
    """Runs operations on a crawl; Spark is started by the first that needs it, and kept."""

    def __init__(
        self,
        directory: CrawlDir | None,
        config: Config,
        spark: SparkOptions,
        application: str = "crawl",
    ) -> None:
        self._crawl = directory
        self._config = config
        self._engine = SparkEngine(config, spark, application)
        self._resources: dict[str, Any] = {}
        self._closed = False

    @property
    def address(self) -> str:
        """The folder, as it was named."""
        return "" if self._crawl is None else self._crawl.address

    def start(
        self, operation: str, /, *, observer: Observer | None = None, **options: Any
    ) -> Running:
        """Begins an operation in a thread of its own, by the name of its method. The observer is
        told what happens (crawl/operations/events.py); what comes back can be waited for and
        cancelled.

            >>> running = web.start("dedup", near="jaccard")
            >>> running.cancel()
        """
        declared = self._find(operation)
        chosen_options = read_options(declared.options, options, Face.API)
        return Running(declared, self._work(declared, observer), chosen_options)

    def close(self) -> None:
        """Stops the Spark session, if it was opened here and no other crawl of this process has
        it. A closed crawl can do no more."""
        self._closed = True
        self._resources.clear()
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<crawl {self.address}{', closed' if self._closed else ''}>"

    @property
    def _opened_crawl(self) -> CrawlDir:
        """The folder, of a handle that is not closed."""
        self._require_open()
        assert self._crawl is not None
        return self._crawl

    def _work(self, operation: Operation, observer: Observer | None = None) -> Work:
        """What an operation is run with."""
        self._require_open()
        observer = observer or notebook_observer(quiet=self._engine.options.quiet)
        return Work(
            operation.command_name,
            self._config,
            self._engine,
            self._crawl,
            observer,
            words=lambda text: in_python(text, operation),
            resources=self._resources,
        )

    def _do(self, command: str, name: str, arguments: Mapping[str, object]) -> Any:
        """Runs the operation of a method with what it was given."""
        (operation,) = [each for each in operations_of(command) if each.name == name]
        own = {key: value for key, value in arguments.items() if key != "self"}
        work = self._work(operation)
        return perform(operation, work, read_options(operation.options, own, Face.API))

    def _method_of_others(self, name: str) -> Callable[..., Any] | None:
        """The operation of somebody else's package as a method, which takes options by name."""
        operation = find_method(name)
        if operation is None:
            return None

        def method(**options: Any) -> Any:
            return self._do(operation.command_name, operation.name, options)

        method.__name__, method.__doc__ = name, operation.help
        return method

    def _find(self, method: str) -> Operation:
        operations = {each.method_name: each for each in all_operations() if each.method_name}
        if method not in operations:
            raise UsageError(f"no operation {method!r}{did_you_mean(method, operations)}")
        return operations[method]

    def _require_open(self) -> None:
        if self._closed:
            raise UsageError(f"{self!r}: open it again with crawl.open({self.address!r})")


def call_function(command: str, name: str, arguments: Mapping[str, Any]) -> Any:
    """Runs an operation that is about no crawl, as a function of the package."""
    from crawl.declared import load_configuration

    own = dict(arguments)
    config = load_configuration(own.pop("settings"), own.pop("conf"))
    with Handle(None, config, SparkOptions(None, quiet=True)) as handle:
        return handle._do(command, name, own)
