from __future__ import annotations

from tests.cli.calling import Caller


def test_the_list_shows_what_is_active_and_why(crawl: Caller) -> None:
    plugins = crawl("plugin", "list", "--json", "-D", "urlfilter.order=regex,prefix").json
    filters = {line["plugin"]: line for line in plugins if line["interface"] == "urlfilter"}
    assert (filters["regex"]["active"], filters["prefix"]["active"]) == ("1", "2")
    assert filters["regex"]["why"] == "urlfilter.order (-D)"
    assert (filters["trap"]["active"], filters["trap"]["why"]) == ("no", "not in urlfilter.order")
    assert {"protocol", "scoring", "schedule", "parser"} <= {line["interface"] for line in plugins}


def test_no_phase_is_said_to_lack_what_a_setting_names(crawl: Caller) -> None:
    given = ("-D", "plugin.parser=html-soup,text")
    plugins = crawl("plugin", "list", "--json", *given).json
    active = {(line["interface"], line["plugin"]) for line in plugins if line["active"].isdigit()}
    assert {("protocol", "http"), ("signature", "md5"), ("parser", "html-soup")} <= active
    assert ("parser", "html") not in active
    (soup,) = [line for line in plugins if line["plugin"] == "html-soup"]
    assert soup["why"] == "plugin.parser (-D)"


def test_only_the_active_ones(crawl: Caller) -> None:
    plugins = crawl("plugin", "list", "--json", "--active").json
    assert [line["plugin"] for line in plugins if line["interface"] == "schedule"] == ["default"]
    assert all(line["active"].isdigit() for line in plugins)


def test_a_plugin_that_cannot_be_loaded_is_shown_as_broken(crawl: Caller) -> None:
    plugins = crawl("plugin", "list", "--json", "-D", "urlfilter.order=no.such:Thing").json
    (broken,) = [line for line in plugins if line["active"] == "broken"]
    assert "cannot be loaded" in broken["why"]


def test_a_typo_suggests_the_plugin(crawl: Caller) -> None:
    answer = crawl("plugin", "list", "-D", "urlfilter.order=regexx")
    assert answer.code == 2
    assert "did you mean 'regex'?" in answer.err


def test_a_scope_with_an_order_of_its_own_is_shown(crawl: Caller) -> None:
    plugins = crawl("plugin", "list", "--json", "-D", "urlnormalizer.order.inject=slash").json
    (slash,) = [line for line in plugins if line["plugin"] == "slash"]
    assert slash["active"] == "1 in scope inject"
    assert slash["why"] == "urlnormalizer.order.inject (-D)"
