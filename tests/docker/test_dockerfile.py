"""The image's recipe: linted, pinned, without root, and made of what is there."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import msgspec
import pytest

import crawl
from tests.docker.dockerfile import DOCKER, ROOT, chain, stages

HADOLINT = Path(sys.executable).parent / "hadolint"
RUNTIMES = ("nutria", "airflow", "kubernetes", "")


def linted(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HADOLINT, "--no-color", "--failure-threshold", "info", path],
        capture_output=True,
        text=True,
        check=False,
    )


def test_hadolint_has_nothing_to_say() -> None:
    result = linted(DOCKER / "Dockerfile")
    assert (result.returncode, result.stdout) == (0, "")


def test_hadolint_would_say_it(tmp_path: Path) -> None:
    careless = (DOCKER / "Dockerfile").read_text().replace("USER 10001:10001", "USER root")
    (tmp_path / "Dockerfile").write_text(careless)
    assert "DL3002" in linted(tmp_path / "Dockerfile").stdout


def test_every_image_it_stands_on_is_pinned() -> None:
    found = stages()
    foreign = {stage.base for stage in found.values()} - set(found)
    assert len(foreign) == 1
    assert all(re.fullmatch(r"[\w/-]+:\d+\.\d+\.\d+-[\w-]+", image) for image in foreign)


def test_its_python_is_one_that_we_run_on() -> None:
    (image,) = {stage.base for stage in stages().values()} - set(stages())
    setup = setup_cfg()
    minor = re.search(r":(\d+\.\d+)\.", image)
    assert minor
    assert f"Programming Language :: Python :: {minor[1]}" in setup["metadata"]["classifiers"]


def setup_cfg() -> ConfigParser:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_it_copies_what_is_there_and_is_sent_nothing_else() -> None:
    copied = {
        source
        for stage in stages().values()
        for copy in stage.copies
        if copy.stage is None
        for source in copy.sources
    }
    assert {source for source in copied if not (ROOT / source).exists()} == set()
    ignored, *others = [
        line
        for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert ignored == "*"
    sent = {line[1:] for line in others if line.startswith("!")}
    # a folder lets all that is in it through
    assert {source for source in copied if not _is_within(source, sent)} == set()
    assert {path for path in sent if not any(_is_within(path, {each}) for each in copied)} == set()


def _is_within(path: str, folders: set[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def test_what_one_stage_takes_from_another_is_made_there() -> None:
    found = stages()
    for stage in found.values():
        for copy in stage.copies:
            if copy.stage is not None:
                other = found[copy.stage]
                made = " ".join([*other.values("RUN"), *other.values("WORKDIR")])
                assert all(source in made for source in copy.sources)


@pytest.mark.parametrize("name", RUNTIMES)
def test_nothing_runs_as_root_and_all_are_children_of_an_init(name: str) -> None:
    standing = chain(name)
    users = [user for stage in standing for user in stage.values("USER")]
    assert users
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1])
    entry = [text for stage in standing for text in stage.values("ENTRYPOINT")][-1]
    assert entry.startswith('["tini",')


@pytest.mark.parametrize("name", RUNTIMES)
def test_it_has_no_build_tools_and_no_caches(name: str) -> None:
    for stage in chain(name):
        for command in stage.values("RUN"):
            assert "pip" not in command
            if "apt-get" in command:
                assert "--no-install-recommends" in command
                assert "rm -rf /var/lib/apt/lists/*" in command
                wanted = re.findall(r"--no-install-recommends ([^&]+)", command)
                assert [each.split() for each in wanted] == [["openjdk-17-jre-headless", "tini"]]
    for stage in stages().values():
        if any(
            word in command for command in stage.values("RUN") for word in ("install ", "airflow")
        ):
            assert stage.name == "base" or stage.variables["PIP_NO_CACHE_DIR"] == "1"


def test_its_version_is_ours() -> None:
    assert stages()["nutria"].variables["VERSION"] == crawl.__version__


def test_its_extras_are_in_setup_cfg() -> None:
    named = stages()["installed"].variables["EXTRAS"].split(",")
    assert set(named) <= set(setup_cfg()["options.extras_require"])


def test_an_extra_that_there_is_not_is_refused(tmp_path: Path) -> None:
    result = subprocess.run(
        [DOCKER / "install", tmp_path / "there", "s3,s4"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr == "install: there is no extra 's4' in setup.cfg\n"
    assert not (tmp_path / "there").exists()


def test_the_scheduler_has_all_that_the_dag_imports_of_the_crawler(tmp_path: Path) -> None:
    """In an interpreter without packages but msgspec, which Airflow has: with one module too few,
    Airflow has no DAG."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    for copy in stages()["scheduler"].copies:
        for source in copy.sources:
            if source.startswith("crawl/"):
                target = tmp_path / source
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, target)
    dag = ast.parse((ROOT / "scripts/dags/nutria_crawl.py").read_text())
    imports = [
        ast.unparse(node)
        for node in ast.walk(dag)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "crawl"
    ]
    assert imports
    paths = f"import sys; sys.path[:0] = {[str(tmp_path), str(packages)]!r}"
    script = "\n".join([paths, *imports])
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
