from __future__ import annotations

import re
from typing import Any

import pytest

import crawl
from crawl.errors import UsageError
from crawl.operations.face_words import in_python
from crawl.operations.operation import Operation
from crawl.operations.options import Face
from crawl.operations.registry import OURS, operations_of
from tests.phases.made import datum, make_crawldb

(DEDUP,) = operations_of("dedup")
(GENERATE,) = operations_of("generate")


@pytest.mark.parametrize(
    ("operation", "said", "told"),
    [
        (DEDUP, "--near: no measure 'foo'", "near: no measure 'foo'"),
        (
            DEDUP,
            "--preview shows what differs: it needs --near",
            "preview shows what differs: it needs near",
        ),
        (DEDUP, "--compare-order: score is named twice", "compare_order: score is named twice"),
        (GENERATE, "--add-days: give a number", "add_days: give a number"),
        # a command line is one, and what is nobody's option, or a part of a word, stays
        (
            DEDUP,
            "start `crawl dedup mycrawl --near jaccard`",
            "start `crawl dedup mycrawl --near jaccard`",
        ),
        (DEDUP, "--nearly, a--near and -D near=1", "--nearly, a--near and -D near=1"),
    ],
)
def test_options_are_named_as_arguments(operation: Operation, said: str, told: str) -> None:
    assert in_python(said, operation) == told


@pytest.mark.parametrize("command", OURS)
def test_no_option_keeps_its_flag(command: str) -> None:
    for operation in operations_of(command):
        flags = [flag for field in operation.fields(Face.API) for flag in field.flags]
        said = ", ".join(part for flag in flags for part in flag.split("/"))
        assert not re.search(r"(^|\s)-", in_python(said, operation)), said


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("dedup", {"near": "foo"}, r"^near: no measure 'foo'"),
        ("dedup", {"preview": 3}, r"it needs near$"),
        ("generate", {"add_days": 1e308}, r"^add_days: give a number of days"),
        (
            "inject",
            {"urls": ["http://a.org/"], "overwrite": True, "update": True},
            r"^overwrite and update exclude",
        ),
    ],
)
def test_a_caller_in_python_reads_of_arguments(
    tmp_path: Any, method: str, arguments: dict[str, Any], message: str
) -> None:
    where = make_crawldb(str(tmp_path / "crawl"), {"http://a.test/": datum()}).address
    with crawl.open(where) as web, pytest.raises(UsageError, match=message):
        getattr(web, method)(**arguments)
    with crawl.open(where) as web:
        running = web.start(method, **arguments)
        with pytest.raises(UsageError, match=message):
            running.result(60)
