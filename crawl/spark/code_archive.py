"""The code that executors need, as a zip: this package, and those that plugins come from.

`crawl COMMAND --master spark://…` sends what the user runs to machines that have none of it.
A job is sent by spark-submit, with the archive of scripts/package.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from crawl.config import Config
from crawl.config.resources import packaged
from crawl.errors import EnvironmentFault
from crawl.interfaces.registry import INTERFACES, available, direct_names

if TYPE_CHECKING:
    from pyspark import SparkContext

NAME = "nutria-code.zip"
_sent: WeakKeyDictionary[SparkContext, list[set[str]]] = WeakKeyDictionary()
"""The modules in each archive that executors were sent, where that is done here."""


def note_sent(context: SparkContext, config: Config) -> None:
    """The session was sent the archives of the configuration."""
    _sent.setdefault(context, []).append(_top_modules(config))


def send_missing(context: SparkContext, config: Config) -> None:
    """Sends executors the modules of a further crawl that they were not sent for those before:
    plugins of its own. Nothing where the user sends the code, or where there is no need to."""
    archives = _sent.get(context)
    if archives is None:
        return
    missing = _top_modules(config).difference(*archives)
    if not missing:
        return
    # an archive of a name that executors have already would not be fetched
    name = f"nutria-code-{len(archives) + 1}.zip"
    for archive in _zipped(missing, name):
        context.addPyFile(str(archive))
    archives.append(missing)


def code_archives(config: Config) -> list[Path]:
    """Zips to import from; they live as long as this process."""
    return _zipped(_top_modules(config), NAME)


def _zipped(modules: set[str], name: str) -> list[Path]:
    folder = Path(tempfile.mkdtemp(prefix="nutria-code-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archives = [folder / name]
    with zipfile.ZipFile(archives[0], "w", zipfile.ZIP_DEFLATED) as archive:
        for spec in filter(None, map(find_spec, sorted(modules))):
            zipped = getattr(spec.loader, "archive", None)
            if zipped is not None:
                archives.append(Path(zipped))
                continue
            for path, inside in _files(spec):
                archive.write(path, inside)
        conf = packaged()
        # not followed before
        if "crawl" in modules and isinstance(conf, Path) and conf.is_symlink():
            for path, inside in _tree(conf, "crawl/conf"):
                archive.write(path, inside)
    return list(dict.fromkeys(archives))


def named_archives(paths: str) -> list[str]:
    """What a user gives as spark.submit.pyFiles; EnvironmentFault names one that is missing."""
    archives = list(filter(None, map(str.strip, paths.split(","))))
    for path in archives:
        if "://" not in path and not Path(path).exists():
            raise EnvironmentFault(f"spark.submit.pyFiles: there is no {path}")
    return archives


def _top_modules(config: Config) -> set[str]:
    """Where this package and all plugins live that the configuration may name."""
    targets = {"crawl"}
    for interface in INTERFACES:
        targets.update(plugin.target for plugin in available(interface.name).values())
        setting = config.settings.get(interface.setting)
        targets.update(direct_names(setting.raw) if setting is not None else ())
    return {target.partition(":")[0].partition(".")[0] for target in targets}


def _files(spec: ModuleSpec) -> Iterable[tuple[Path, str]]:
    if spec.submodule_search_locations:
        for place in spec.submodule_search_locations:
            yield from _tree(Path(place), spec.name)
    elif spec.origin is not None and Path(spec.origin).suffix == ".py":
        yield Path(spec.origin), Path(spec.origin).name


def _tree(folder: Path, name: str) -> Iterable[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        if path.is_file() and "__pycache__" not in below.parts:
            yield path, f"{name}/{below.as_posix()}"
