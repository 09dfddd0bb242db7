from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from crawl.config import Config, Property, integer
from crawl.declared import load_declared
from crawl.errors import ConfigError, PluginError
from crawl.interfaces.registry import (
    INTERFACES,
    ResolvedPlugin,
    available,
    interface,
    plugin_properties,
    resolve,
    setting_properties,
)
from crawl.plugins.scoring.opic import OpicScoring

HERE = __name__


class Plain:
    properties = (integer("plain.number", 3, "For this test.", minimum=1),)

    def __init__(self, config: Config) -> None:
        self.number = config[self.properties[0]]


class Outer:
    class Inner(Plain):
        pass


class Faulty:
    def __init__(self, config: Config) -> None:
        raise KeyError("first line\nsecond line")


class Contradicted:
    def __init__(self, config: Config) -> None:
        raise ConfigError("a is above b")


not_callable = 3


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path; its modules are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_every_interface_has_a_key_of_its_own() -> None:
    assert len({each.name for each in INTERFACES}) == len(INTERFACES)
    assert len({each.setting for each in INTERFACES}) == len(INTERFACES)
    assert interface("scoring").group == "nutria.scoring"
    assert all(each.about for each in INTERFACES)
    with pytest.raises(PluginError, match="no interface is called 'scorin'"):
        interface("scorin")


def test_the_installed_entry_points_are_found() -> None:
    groups = {each.group for each in INTERFACES}
    installed = {group for group in entry_points().groups if group.startswith("nutria.")}
    assert installed <= groups
    assert {"nutria.urlfilter", "nutria.urlnormalizer", "nutria.scoring", "nutria.schedule"} <= (
        installed
    )
    assert available("scoring")["opic"] == ResolvedPlugin(
        "scoring", "opic", "crawl.plugins.scoring.opic:OpicScoring"
    )
    assert "default" in available("schedule")
    assert all(available(each.name) for each in INTERFACES), "no interface without code"


@pytest.mark.parametrize("name", [each.name for each in INTERFACES])
def test_every_installed_plugin_can_be_built(name: str) -> None:
    for plugin in available(name).values():
        built = plugin.build(Config.of({"http.agent.name": "testbot"}))
        assert type(built).__module__.startswith("crawl.plugins.")


def test_names_are_resolved_in_their_order() -> None:
    found = resolve("urlnormalizer", ["regex", "basic"])
    assert [plugin.name for plugin in found] == ["regex", "basic"]
    assert resolve("urlnormalizer", []) == ()


def test_a_name_with_a_colon_needs_no_entry_point() -> None:
    (found,) = resolve("scoring", [f"{HERE}:Plain"])
    assert found == ResolvedPlugin("scoring", f"{HERE}:Plain", f"{HERE}:Plain")
    assert found.load() is Plain
    assert found.build(Config.of()).number == 3
    (inner,) = resolve("scoring", [f"{HERE}:Outer.Inner"])
    assert inner.load() is Outer.Inner


def test_an_installed_name_loads_its_class() -> None:
    (found,) = resolve("scoring", ["opic"])
    assert found.load() is OpicScoring


def test_a_typo_names_the_nearest_and_where_it_was_set() -> None:
    with pytest.raises(PluginError) as raised:
        resolve("scoring", ["opci"])
    assert str(raised.value) == (
        "no scoring plugin is called 'opci' (did you mean 'opic'?); set in scoring.filter.order"
    )
    with pytest.raises(PluginError, match=r"called 'x' \(there is ignoreexempt\); set in"):
        resolve("urlexemption", ["x"])


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("no.such.module:Attr", "No module named"),
        (f"{HERE}:Missing", "has no attribute 'Missing'"),
        (f"{HERE}:", "AttributeError"),
        (":Attr", "Empty module name"),
        (".relative:Attr", "cannot be loaded"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(target: str, expected: str) -> None:
    (plugin,) = resolve("scoring", [target])
    with pytest.raises(PluginError) as error:
        plugin.build(Config.of())
    line = str(error.value)
    assert expected in line
    assert f"scoring plugin {target!r} cannot be loaded from {target}" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "source",
    ["def broken(:\n", "import no_such_library", "1 / 0", "raise ValueError('two\\nlines')"],
)
def test_a_broken_module_is_one_line(module_folder: Path, source: str) -> None:
    (module_folder / "broken_plugin.py").write_text(source)
    (plugin,) = resolve("scoring", ["broken_plugin:Scoring"])
    with pytest.raises(PluginError, match=r"cannot be loaded from broken_plugin:Scoring") as raised:
        plugin.load()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [("Faulty", "KeyError: 'first line"), ("not_callable", "TypeError: 'int' object")],
)
def test_what_cannot_be_built_is_one_line(attribute: str, expected: str) -> None:
    (plugin,) = resolve("scoring", [f"{HERE}:{attribute}"])
    with pytest.raises(PluginError, match=f"cannot be built: {expected}") as error:
        plugin.build(Config.of())
    assert "\n" not in str(error.value)


def test_a_plugins_own_word_on_its_configuration_is_kept() -> None:
    (plugin,) = resolve("scoring", [f"{HERE}:Contradicted"])
    with pytest.raises(ConfigError, match=r"^a is above b$"):
        plugin.build(Config.of())


def test_plugin_properties() -> None:
    faults: list[str] = []
    found = list(plugin_properties(faults))
    assert not faults
    assert all(isinstance(each, Property) for each in found)
    names = {each.name for each in found}
    assert {"urlfilter.regex.file", "db.fetch.interval.default"} <= names


def test_properties_of_plugins_that_a_setting_names() -> None:
    for raw in (f"opic,{HERE}:Plain", f"opic {HERE}:Plain", ["opic", f"{HERE}:Plain"]):
        assert list(setting_properties("scoring.filter.order", raw)) == list(Plain.properties)
    assert list(setting_properties("scoring.filter.order", "opic")) == []
    assert list(setting_properties("scoring.filter.order", 5)) == []
    assert list(setting_properties("metrics.textfile", f"{HERE}:Plain")) == []
    with pytest.raises(PluginError, match=r"'no.such:Thing' cannot be loaded"):
        list(setting_properties("scoring.filter.order", "no.such:Thing"))


def test_properties_of_a_plugin_that_lists_none_are_those_of_its_module_and_its_bases() -> None:
    target = "crawl.plugins.schedule.adaptive:AdaptiveFetchSchedule"
    names = {each.name for each in setting_properties("db.fetch.schedule.class", target)}
    assert {"db.fetch.schedule.adaptive.inc_rate", "db.fetch.interval.max"} <= names
    assert not any(name.startswith("db.fetch.schedule.poisson") for name in names)


def test_a_broken_plugin_does_not_hide_the_others_properties(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from crawl.interfaces import registry

    def found(name: str) -> dict[str, ResolvedPlugin]:
        if name != "scoring":
            return {}
        return {
            "broken": ResolvedPlugin("scoring", "broken", "no.such:Thing"),
            "plain": ResolvedPlugin("scoring", "plain", f"{HERE}:Plain"),
            "silent": ResolvedPlugin("scoring", "silent", f"{HERE}:Faulty"),
        }

    monkeypatch.setattr(registry, "available", found)
    faults: list[str] = []
    assert list(plugin_properties(faults)) == list(Plain.properties)
    assert ["broken" in faults[0], len(faults)] == [True, 1]


def test_a_property_of_a_broken_plugin_is_not_just_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    from crawl.interfaces import registry

    broken = {"broken": ResolvedPlugin("scoring", "broken", "no.such:Thing")}
    monkeypatch.setattr(registry, "available", lambda name: broken if name == "scoring" else {})
    with pytest.raises(ConfigError) as refused:
        load_declared(["broken.share=1"])
    assert re.fullmatch(
        r"unknown property 'broken\.share'.* in -D; it may be one of a plugin: scoring plugin"
        r" 'broken' cannot be loaded from no\.such:Thing: ModuleNotFoundError: .*",
        str(refused.value),
    )
