from __future__ import annotations

import json

import pytest

from tests.cli.calling import Caller
from tests.cli.typing_in import type_in

ODD = "HTTP://A.org:80/b/../c?PHPSESSID=0123456789abcdef0123456789abcdef#top"


def test_normal_forms_and_an_empty_line_for_no_url(crawl: Caller) -> None:
    answer = crawl("normalizerchecker", ODD, "mailto:a@b.org", "http://b.org/")
    assert (answer.code, answer.err) == (1, "")
    assert answer.out == "http://a.org/c\n\nhttp://b.org/\n"
    assert crawl("normalizerchecker", ODD).code == 0


def test_one_normalizer_and_one_scope(crawl: Caller) -> None:
    answer = crawl("normalizerchecker", "--normalizer", "basic", ODD)
    assert answer.out.startswith("http://a.org/c?PHPSESSID=")
    none = ("-D", "urlnormalizer.order.inject=regex")
    assert crawl("normalizerchecker", "--scope", "inject", "HTTP://b.org/", *none).out == (
        "HTTP://b.org/\n"
    )
    assert crawl("normalizerchecker", "HTTP://b.org/", *none).out == "http://b.org/\n"


def test_steps(crawl: Caller) -> None:
    lines = crawl("normalizerchecker", "--steps", ODD, "nothing").out.splitlines()
    assert lines[0] == f"# {ODD}"
    assert [line.split()[1:3] for line in lines[1:5]] == [
        ["1", "basic"],
        ["1", "regex"],
        ["2", "basic"],
        ["2", "regex"],
    ]
    assert lines[2].endswith("http://a.org/c")
    assert lines[4].endswith("unchanged")
    assert lines[5] == "http://a.org/c"
    assert lines[6:] == ["# nothing", "#   1 basic        no URL", ""]


def test_stdin_and_for_programs(crawl: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, b"HTTP://a.org\n:\n")
    answer = crawl("normalizerchecker", "--stdin", "--json")
    assert answer.code == 1
    first, second = map(json.loads, answer.out.splitlines())
    assert (first["url"], first["normal"]) == ("HTTP://a.org", "http://a.org/")
    assert first["steps"][0] == {
        "round": 1,
        "plugin": "basic",
        "url": "http://a.org/",
        "changed": True,
        "fault": "",
    }
    assert second["normal"] is None


def test_wrong_input_is_one_line(crawl: Caller) -> None:
    wrong: list[tuple[list[object], str]] = [
        ([], "give either URLs or --stdin"),
        (["--normalizer", "basci", "http://a.org/"], "did you mean 'basic'"),
        (["--scope", "nowhere", "http://a.org/"], "--scope"),
        (["http://a.org/", "-D", "urlnormalizer.loop.count=x"], "urlnormalizer.loop.count"),
    ]
    for arguments, expected in wrong:
        answer = crawl("normalizerchecker", *arguments)
        assert (answer.code, answer.out) == (2, ""), arguments
        assert expected in answer.err
