from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from crawl.config import Config, Property, integer, load, text
from crawl.config.properties import (
    CORE,
    DB_FETCH_INTERVAL_DEFAULT,
    DB_UPDATE_PURGE_404,
    FETCHER_SERVER_DELAY,
    GENERATE_COUNT_MODE,
    GENERATE_MAX_COUNT,
)
from crawl.errors import ConfigError

PLUGIN = integer("urlfilter.length.max", 2048, "Longest URL accepted.", minimum=1)
LONGER = text("urlfilter.length.max.mode", "hard", "A key that begins like another.")


def plugins() -> Iterable[Property[Any]]:
    return (PLUGIN, LONGER)


def no_plugins() -> Iterable[Property[Any]]:
    raise AssertionError("the plugins were asked for without need")


def site(folder: Path, content: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "crawl-site.toml"
    path.write_text(content, encoding="utf-8")
    return path


def refusal(*overrides: str, conf: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load(overrides, conf, extra=plugins)
    return str(caught.value)


class TestLayers:
    def test_defaults_alone(self, tmp_path: Path) -> None:
        config = load(working_folder=tmp_path, extra=no_plugins)
        assert config[FETCHER_SERVER_DELAY] == 5.0
        assert config.origin(FETCHER_SERVER_DELAY) == "default"

    def test_the_site_file_over_defaults_and_the_command_line_over_both(
        self, tmp_path: Path
    ) -> None:
        path = site(tmp_path, '"fetcher.server.delay" = 1\n"generate.max.count" = 10\n')
        config = load(["generate.max.count=20"], tmp_path, extra=no_plugins)
        assert config[FETCHER_SERVER_DELAY] == 1.0
        assert config.origin(FETCHER_SERVER_DELAY) == str(path)
        assert config[GENERATE_MAX_COUNT] == 20
        assert config.origin(GENERATE_MAX_COUNT) == "-D"
        assert config.origin(GENERATE_COUNT_MODE) == "default"

    def test_the_last_of_two_overrides_wins(self) -> None:
        config = load(["generate.max.count=1", "generate.max.count=2"])
        assert config[GENERATE_MAX_COUNT] == 2

    def test_plugins_keys_are_typed_too(self, tmp_path: Path) -> None:
        site(tmp_path, '"urlfilter.length.max" = 10\n"urlfilter.length.max.mode" = "soft"\n')
        config = load(conf=tmp_path, extra=plugins)
        assert (config[PLUGIN], config[LONGER]) == (10, "soft")
        assert load(["urlfilter.length.max=20"], tmp_path, extra=plugins)[PLUGIN] == 20

    def test_spark_keys_are_passed_on(self, tmp_path: Path) -> None:
        site(tmp_path, "[spark]\nsql.shuffle.partitions = 8\nui.enabled = false\n")
        config = load(["spark.executor.memory=2g"], tmp_path, extra=no_plugins)
        assert config.spark_settings() == {
            "spark.executor.memory": "2g",
            "spark.sql.shuffle.partitions": "8",
            "spark.ui.enabled": "false",
        }


class TestPlace:
    def test_conf_may_be_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('"fetcher.server.delay" = 2')
        (tmp_path / "rules.txt").write_text("+.")
        config = load(conf=str(path))
        assert config[FETCHER_SERVER_DELAY] == 2.0
        assert config.origin(FETCHER_SERVER_DELAY) == str(path)
        assert config.resources.folders == (tmp_path,)

    def test_conf_goes_before_the_environment_and_that_before_the_working_folder(
        self, tmp_path: Path
    ) -> None:
        site(tmp_path / "given", '"generate.max.count" = 1')
        site(tmp_path / "environment", '"generate.max.count" = 2')
        site(tmp_path / "conf", '"generate.max.count" = 3')
        environ = {"CRAWL_CONF_DIR": str(tmp_path / "environment")}
        found = [
            load(conf=tmp_path / "given", environ=environ, working_folder=tmp_path),
            load(environ=environ, working_folder=tmp_path),
            load(environ={"CRAWL_CONF_DIR": ""}, working_folder=tmp_path),
            load(working_folder=tmp_path / "given"),
        ]
        assert [config[GENERATE_MAX_COUNT] for config in found] == [1, 2, 3, -1]

    def test_a_conf_folder_without_a_site_file_counts_only_when_named(self, tmp_path: Path) -> None:
        (tmp_path / "conf").mkdir()
        assert load(working_folder=tmp_path).resources.folders == ()
        assert load(conf="conf", working_folder=tmp_path).resources.folders == (tmp_path / "conf",)

    def test_of_several_folders_the_first_that_has_a_file_wins(self, tmp_path: Path) -> None:
        first, second = tmp_path / "first", tmp_path / "second"
        first.mkdir()
        site(second, '"generate.max.count" = 2')
        (first / "a.txt").write_text("first a")
        (second / "a.txt").write_text("second a")
        (second / "b.txt").write_text("second b")
        config = load(environ={"CRAWL_CONF_DIR": f"{first}:{second}:"})
        assert config[GENERATE_MAX_COUNT] == 2
        names = [text(name, f"{name}.txt", "A file.") for name in ("a", "b")]
        assert [config.read(name) for name in names] == ["first a", "second b"]

    def test_of_several_site_files_the_first_counts_alone(self, tmp_path: Path) -> None:
        site(tmp_path / "first", '"generate.max.count" = 1')
        site(tmp_path / "second", '"generate.max.count" = 2\n"fetcher.server.delay" = 9')
        config = load(environ={"CRAWL_CONF_DIR": f"{tmp_path}/first:{tmp_path}/second"})
        assert config[GENERATE_MAX_COUNT] == 1
        assert config[FETCHER_SERVER_DELAY] == 5.0

    def test_a_process_in_another_folder_finds_the_same_folders(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site(tmp_path / "conf", "")
        (tmp_path / "conf" / "a.txt").write_text("mine")
        monkeypatch.chdir(tmp_path)
        config = load()
        monkeypatch.chdir("/")
        assert config.read(text("a", "a.txt", "A file.")) == "mine"

    def test_folders_that_are_not_there(self, tmp_path: Path) -> None:
        missing = tmp_path / "missing"
        assert refusal(conf=missing) == f"--conf: there is no folder {missing}"
        with pytest.raises(ConfigError, match=r"^CRAWL_CONF_DIR: there is no folder .*missing$"):
            load(environ={"CRAWL_CONF_DIR": f"{tmp_path}:{missing}"})


class TestSiteFile:
    @pytest.mark.parametrize(
        "content",
        [
            '"db.fetch.interval.default" = "2h"\n"db.update.purge.404" = true',
            'db.fetch.interval.default = "2h"\ndb.update.purge.404 = true',
            '[db]\nfetch.interval.default = "2h"\n"update.purge.404" = true',
            '[db.fetch.interval]\ndefault = "2h"\n[db.update.purge]\n404 = true',
            '\ufeffdb = {fetch = {"interval.default" = 7200}, update.purge.404 = true}',
        ],
    )
    def test_every_way_to_write_a_key(self, content: str, tmp_path: Path) -> None:
        site(tmp_path, content)
        config = load(conf=tmp_path, extra=no_plugins)
        assert config[DB_FETCH_INTERVAL_DEFAULT] == 7200.0
        assert config[DB_UPDATE_PURGE_404] is True

    def test_a_key_written_two_ways(self, tmp_path: Path) -> None:
        path = site(tmp_path, '"generate.max.count" = 1\n[generate]\nmax.count = 2\n')
        assert refusal(conf=tmp_path) == f"generate.max.count is set twice in {path}"

    def test_wrong_values_name_the_file(self, tmp_path: Path) -> None:
        path = site(tmp_path, '"generate.max.count" = "5"')
        assert refusal(conf=tmp_path) == (
            f'generate.max.count: expected an integer or "auto", got "5" (from {path})'
        )

    @pytest.mark.parametrize(
        ("content", "where", "what"),
        [
            ("a = 1\nb c = 2\n", "line 2, column 3", "Expected '=' after a key"),
            ("a = 1\na = 2\n", "line 2, column 6", "Cannot overwrite a value"),
            ("a = [1,\n", "end of document", ""),
            ('a = "\n', "line 1, column 6", ""),
        ],
    )
    def test_wrong_syntax(self, content: str, where: str, what: str, tmp_path: Path) -> None:
        path = site(tmp_path, content)
        message = refusal(conf=tmp_path)
        assert message.startswith(f"{path}, {where}: {what}")
        assert message.isprintable()
        assert "(at " not in message

    @pytest.mark.parametrize(
        "content", [b"a = \xff", b"a = " + b"9" * 5000, b"a = " + b"[" * 100_000]
    )
    def test_what_the_toml_reader_itself_stumbles_over(
        self, content: bytes, tmp_path: Path
    ) -> None:
        path = site(tmp_path, "")
        path.write_bytes(content)
        assert refusal(conf=tmp_path).startswith(str(path))

    def test_lists_are_nothing_for_spark(self, tmp_path: Path) -> None:
        site(tmp_path, '"spark.jars" = ["a", "b"]')
        assert refusal(conf=tmp_path).startswith("spark.jars: expected a text, got a list (from ")


class TestUnknownKeys:
    def test_the_nearest_is_suggested(self, tmp_path: Path) -> None:
        path = site(tmp_path, '"fetcher.server.dealy" = 1')
        assert refusal(conf=tmp_path) == (
            "unknown property 'fetcher.server.dealy' (did you mean 'fetcher.server.delay'?)"
            f" in {path}"
        )

    def test_also_among_plugins_keys(self) -> None:
        assert refusal("urlfilter.length.maxx=1") == (
            "unknown property 'urlfilter.length.maxx' (did you mean 'urlfilter.length.max'?) in -D"
        )

    def test_or_none(self) -> None:
        assert refusal("zzz=1") == "unknown property 'zzz' in -D"

    def test_plugins_values_are_checked_before_anybody_asks(self) -> None:
        assert refusal("urlfilter.length.max=0") == (
            'urlfilter.length.max: expected an integer of at least 1, got "0" (from -D)'
        )

    def test_the_plugins_are_asked_once(self) -> None:
        asked: list[int] = []

        def counted() -> Iterable[Property[Any]]:
            asked.append(1)
            return plugins()

        load(["urlfilter.length.max=1", "urlfilter.length.max.mode=x"], extra=counted)
        assert asked == [1]


class TestPropertiesOfNamedPlugins:
    DEPTH = integer("urlfilter.depth.max", 6, "Most folders.", minimum=1)
    NAMED = "urlfilter.order=regex,my:Depth"

    def of_setting(self, name: str, raw: object) -> Iterable[Property[Any]]:
        return (self.DEPTH, PLUGIN) if (name, raw) == ("urlfilter.order", "regex,my:Depth") else ()

    @pytest.mark.parametrize("is_named_first", [True, False])
    def test_they_are_known_once_the_plugin_is_named(self, is_named_first: bool) -> None:
        overrides = [self.NAMED, "urlfilter.depth.max=3"]
        config = load(
            overrides if is_named_first else reversed(overrides),
            extra=lambda: [text("urlfilter.order", "", "")],
            of_setting=self.of_setting,
        )
        assert config[self.DEPTH] == 3

    def test_their_values_are_checked(self) -> None:
        with pytest.raises(ConfigError, match=r"urlfilter.depth.max: expected an integer of at"):
            load(
                [self.NAMED, "urlfilter.depth.max=0"],
                extra=lambda: [text("urlfilter.order", "", "")],
                of_setting=self.of_setting,
            )

    def test_they_change_none_of_others(self) -> None:
        with pytest.raises(ConfigError, match=r"unknown property 'urlfilter.depth.max'"):
            load(["urlfilter.depth.max=3"], extra=plugins, of_setting=self.of_setting)


class TestOverrides:
    @pytest.mark.parametrize("override", ["", "=", "=5", "generate.max.count", " =5"])
    def test_not_a_key_and_a_value(self, override: str) -> None:
        assert refusal(override) == f"-D {override!r}: expected KEY=VALUE"

    def test_the_brief_example(self) -> None:
        assert refusal("fetcher.server.delay=5kg") == (
            'fetcher.server.delay: expected a duration in s (such as 5 or "500ms"),'
            ' got "5kg" (from -D)'
        )

    def test_a_value_may_hold_equal_signs_and_a_key_blanks_around(self) -> None:
        config = load([" urlfilter.length.max.mode =a=b"], extra=plugins)
        assert config[LONGER] == "a=b"

    @examples(
        st.sampled_from([*CORE, PLUGIN.name, "spark.x", "no.such.key"]),
        st.text() | st.from_regex(r"[-+.0-9eE]{0,6}[a-zA-Z]{0,3}", fullmatch=True),
    )
    def test_no_value_raises_anything_but_a_config_error(self, name: str, value: str) -> None:
        try:
            config = load([f"{name}={value}"], extra=plugins, working_folder=Path("/nowhere"))
        except ConfigError as error:
            assert str(error).isprintable()
        else:
            assert len(config.digest()) == 12

    @examples(st.text())
    def test_no_override_raises_anything_but_a_config_error(self, override: str) -> None:
        with pytest.raises(ConfigError):
            load([override], extra=plugins, working_folder=Path("/nowhere"))


def test_a_default_config_is_what_load_gives_where_nothing_is_set(tmp_path: Path) -> None:
    loaded = load(working_folder=tmp_path)
    assert {name: loaded[prop] for name, prop in CORE.items()} == {
        name: Config()[prop] for name, prop in CORE.items()
    }
    assert loaded.digest() == Config().digest()
