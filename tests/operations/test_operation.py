"""An operation's declaration: what the signature of `run` says need not be declared again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from crawl.operations.operation import NoOptions, Operation

if TYPE_CHECKING:
    from crawl.operations.work import Work


@dataclass(frozen=True, slots=True)
class Sum:
    value: int


def run(work: Work, options: NoOptions) -> Sum:
    return Sum(1)


def declared(function: Any, **others: Any) -> Operation:
    return Operation(name="sum", run=function, help="", render=lambda *_: [], **others)


def test_options_and_result_are_those_of_the_signature() -> None:
    operation = declared(run)
    assert (operation.options, operation.result) == (NoOptions, Sum)
    assert declared(run, result=int).result is int


def test_a_function_that_does_not_say_them_needs_them_declared() -> None:
    with pytest.raises(TypeError, match=r"^sum: `run` does not say what it is given and returns$"):
        declared(lambda work, options: Sum(1))
    operation = declared(lambda work, options: Sum(1), options=NoOptions, result=Sum)
    assert (operation.options, operation.result) == (NoOptions, Sum)
