from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import Caller
from tests.cli.typing_in import type_in

RULES = ("-D", "urlfilter.regex.rules=-[.]gif\n+^http")


def test_plus_and_minus_with_filter_and_reason(crawl: Caller) -> None:
    answer = crawl("filterchecker", "http://a.org/", "http://a.org/x.gif", *RULES)
    assert (answer.code, answer.err) == (1, "")
    assert answer.out == (
        "+http://a.org/\n-http://a.org/x.gif\tregex: urlfilter.regex.rules:1: -[.]gif\n"
    )
    assert crawl("filterchecker", "http://a.org/", *RULES).code == 0


def test_a_single_filter_is_asked(crawl: Caller) -> None:
    answer = crawl("filterchecker", "--filter-name", "length", "http://a.org/x.gif", *RULES)
    assert (answer.code, answer.out) == (0, "+http://a.org/x.gif\n")


def test_every_line_of_stdin_is_answered(crawl: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, b"http://a.org/\r\n\nhttp://a.org/\xff.gif\nhttp://b.org/")
    answer = crawl("filterchecker", "--stdin", *RULES)
    assert answer.code == 1
    first, empty, third, last = answer.out.splitlines()
    assert (first, last) == ("+http://a.org/", "+http://b.org/")
    assert empty.startswith("-\tregex: ")
    assert third.startswith("-http://a.org/\N{REPLACEMENT CHARACTER}.gif\t")


def test_for_programs(crawl: Caller) -> None:
    answer = crawl("filterchecker", "http://a.org/", "http://a.org/x.gif", "--json", *RULES)
    accepted, rejected = map(json.loads, answer.out.splitlines())
    assert accepted["accepted"] is True
    assert [step["plugin"] for step in accepted["steps"]] == ["length", "regex", "trap"]
    assert (rejected["accepted"], rejected["filter"]) == (False, "regex")
    assert rejected["reason"].endswith("-[.]gif")


def test_nothing_that_is_printed_moves_the_cursor(crawl: Caller) -> None:
    answer = crawl("filterchecker", "http://a.org/\x1b[2J\nhttp://b.org/\t", *RULES)
    assert answer.out.count("\n") == 1
    assert "\x1b" not in answer.out
    assert answer.out.startswith("+http://a.org/\\x1b[2J\\nhttp://b.org/\\t")


def test_wrong_input_is_one_line(crawl: Caller, tmp_path: Path) -> None:
    wrong: list[tuple[list[object], str]] = [
        ([], "crawl: give either URLs or --stdin"),
        (["--stdin", "http://a.org/"], "crawl: give either URLs or --stdin"),
        (["--filter-name", "regexx", "http://a.org/"], "did you mean 'regex'"),
        (["http://a.org/", "-D", "urlfilter.regex.rules=oops"], "urlfilter.regex.rules:1"),
        (["http://a.org/", "--conf", tmp_path / "none"], "none"),
    ]
    for arguments, expected in wrong:
        answer = crawl("filterchecker", *arguments)
        assert (answer.code, answer.out) == (2, ""), arguments
        assert expected in answer.err
        assert answer.err.count("\n") == 1


def test_a_line_without_an_end_is_refused(crawl: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, b"http://a.org/\n" + b"x" * (1 << 20) + b"y")
    answer = crawl("filterchecker", "--stdin", *RULES)
    assert answer.code == 2
    assert answer.out == "+http://a.org/\n"
    assert answer.err == "crawl: line 2 of stdin is longer than 1,048,576 bytes\n"


DEPTH_FILTER = """
from crawl.config import integer

MOST = integer("urlfilter.depth.max", 6, "Most folders that a URL may have.", minimum=1)


class DepthFilter:
    properties = (MOST,)

    def __init__(self, config):
        self.most = config[MOST]

    def rejection(self, url):
        return "too deep" if url.count("/") > 2 + self.most else None

    def accepts_batch(self, urls):
        return None
"""


class TestPropertiesOfAModuleClassPlugin:
    NAME = "nutria_test_depth_filter"
    ORDER = ("-D", f"urlfilter.order={NAME}:DepthFilter")

    @pytest.fixture(autouse=True)
    def module(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / f"{self.NAME}.py").write_text(DEPTH_FILTER)
        monkeypatch.syspath_prepend(tmp_path)

    def test_can_be_set(self, crawl: Caller) -> None:
        deep = ("filterchecker", "http://a.org/b/c/d", *self.ORDER)
        assert crawl(*deep).code == 0
        assert crawl(*deep, "-D", "urlfilter.depth.max=2").code == 1
        assert crawl("filterchecker", "http://a.org/b", "-D", "urlfilter.depth.max=2").code != 0

    def test_are_checked(self, crawl: Caller) -> None:
        answer = crawl("filterchecker", "http://a.org/", *self.ORDER, "-D", "urlfilter.depth.max=0")
        assert answer.code not in (0, 1)
        assert "urlfilter.depth.max: expected an integer of at least 1" in answer.err

    def test_are_shown(self, crawl: Caller) -> None:
        answer = crawl(
            *("showproperties", "depth.max", "--json", *self.ORDER, "-D", "urlfilter.depth.max=2")
        )
        (shown,) = [each for each in json.loads(answer.out) if each["key"] == "urlfilter.depth.max"]
        assert (shown["value"], shown["origin"]) == (2, "-D")

    def test_a_module_that_cannot_be_imported_is_named(self, crawl: Caller) -> None:
        answer = crawl(
            *("filterchecker", "http://a.org/", "-D", "urlfilter.order=no_such_module:Filter"),
            *("-D", "urlfilter.depth.max=2"),
        )
        assert "'no_such_module:Filter' cannot be loaded" in answer.err
