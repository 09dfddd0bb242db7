from __future__ import annotations

import io

import pytest

from crawl.cli import spark_start
from crawl.cli.spark_start import MESSAGE, spark_is_starting
from tests.cli.remarks import Remarks


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_it_is_seen_at_once_and_gone_at_the_end() -> None:
    stream = Terminal()
    with spark_is_starting(quiet=False, stream=stream):
        assert stream.getvalue() == MESSAGE
    assert stream.getvalue() == f"{MESSAGE}\r\x1b[K"


def test_it_is_gone_too_where_spark_cannot_start() -> None:
    stream = Terminal()
    with pytest.raises(ValueError, match="no Java"), spark_is_starting(quiet=False, stream=stream):
        raise ValueError("no Java")
    assert stream.getvalue().endswith("\r\x1b[K")


def test_without_a_terminal_it_is_a_line_if_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    remarks = Remarks(monkeypatch, "crawl.cli.spark_start.remark")
    with spark_is_starting(quiet=False, stream=io.StringIO()):
        pass
    assert remarks.messages == []
    monkeypatch.setattr(spark_start, "_PATIENCE_SECONDS", 0.0)
    with spark_is_starting(quiet=False, stream=io.StringIO()):
        assert remarks.come(10)
    assert remarks.messages == [MESSAGE]


def test_quiet_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_start, "_PATIENCE_SECONDS", 0.0)
    remarks, stream = Remarks(monkeypatch, "crawl.cli.spark_start.remark"), Terminal()
    with spark_is_starting(quiet=True, stream=stream):
        assert not remarks.come(0.05)
    assert stream.getvalue() == ""
