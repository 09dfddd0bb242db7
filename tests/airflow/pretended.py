"""As much of Airflow as a DAG file meets when it is parsed: it writes down what is made.

Airflow takes seconds to import and has a venv of its own; what the file makes of it can be
checked in milliseconds.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

DAG_FILE = Path(__file__).parents[2] / "scripts" / "dags" / "nutria_crawl.py"


class AirflowException(Exception):
    pass


class AirflowSkipException(AirflowException):
    pass


@dataclass
class Parsed:
    """What the DAG file has made: the DAG, its operators and their order."""

    dag: dict[str, Any] = field(default_factory=dict)
    operators: dict[str, Any] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    def rendered(self, name: str, params: dict[str, Any]) -> Any:
        """The command of a task, with its template filled in."""
        operator = self.operators[name]
        template = operator.options.get("bash_command") or operator.options["application_args"]
        expression = template.removeprefix("{{ ").removesuffix(" }}")
        return eval(expression, {"params": params, **self.dag["user_defined_macros"]})


def parsed(monkeypatch: pytest.MonkeyPatch, **environment: str) -> Parsed:
    """Reads the DAG file under these variables, where there is no pyspark."""
    found = Parsed()
    groups: list[str] = []

    class Group(AbstractContextManager["Group"]):
        def __init__(self, name: str) -> None:
            self._name = name

        def __enter__(self) -> Group:
            groups.append(self._name)
            return self

        def __exit__(self, *_: object) -> None:
            groups.pop()

    class DAG(AbstractContextManager["DAG"]):
        def __init__(self, name: str, **options: Any) -> None:
            found.dag.update(options, dag_id=name)

        def __exit__(self, *_: object) -> None:
            assert not groups

    class Operator:
        def __init__(self, task_id: str, **options: Any) -> None:
            self.options = options
            self.name = ".".join([*groups, task_id])
            found.operators[self.name] = self

        def execute(self, context: object) -> None:
            run: Callable[[], None] = self.options["run"]
            run()

    class BashOperator(Operator):
        pass

    class SparkSubmitOperator(Operator):
        pass

    def chain(*operators: Operator) -> None:
        found.order += [operator.name for operator in operators]

    def param(default: object = ..., **schema: Any) -> SimpleNamespace:
        return SimpleNamespace(default=default, **schema)

    for name in [name for name in sys.modules if name.partition(".")[0] == "airflow"]:
        monkeypatch.delitem(sys.modules, name)
    modules: dict[str, dict[str, Any]] = {
        "airflow": {},
        "airflow.sdk": {"DAG": DAG, "Param": param, "TaskGroup": Group, "chain": chain},
        "airflow.sdk.exceptions": {
            "AirflowException": AirflowException,
            "AirflowSkipException": AirflowSkipException,
        },
        "airflow.providers.standard.operators.bash": {"BashOperator": BashOperator},
        "airflow.providers.apache.spark.operators.spark_submit": {
            "SparkSubmitOperator": SparkSubmitOperator
        },
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    runpy.run_path(str(DAG_FILE))
    return found
