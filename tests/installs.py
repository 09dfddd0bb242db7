"""What a user has who installed the product, perhaps with extras: whatever else the environment of
the tests has cannot be imported for a while.

So that a line that a page shows is not green here and an error on the machine of its reader.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from types import ModuleType

from packaging.requirements import Requirement

PRODUCT = "nutria"
FROM_SOURCES = f"{PRODUCT}[search,serve]"
"""What ./scripts/crawl installs."""
_TOOLS = frozenset(("pytest", "pluggy", "hypothesis", "xdist", "execnet", "coverage", "packaging"))
"""Of the tests themselves, which are running meanwhile."""


@contextmanager
def only_installed(requirements: Iterable[str] = (PRODUCT,)) -> Iterator[None]:
    """Lets nothing be imported but these distributions and what they bring along; each as pip is
    told it: `nutria[notebook]`."""
    absent = absent_modules(frozenset(requirements))
    hidden: dict[str, ModuleType] = {
        name: sys.modules.pop(name)
        for name in list(sys.modules)
        if name.partition(".")[0] in absent
    }
    finder = _Absent(absent)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.modules.update(hidden)


@cache
def absent_modules(requirements: frozenset[str]) -> frozenset[str]:
    """The top-level modules that such an install does not have."""
    there = _installed(requirements)
    return frozenset(
        module
        for module, names in packages_distributions().items()
        if not module.startswith("_")
        and module not in _TOOLS
        and not there & {_canonical(name) for name in names}
    )


class _Absent(MetaPathFinder):
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def _installed(requirements: frozenset[str]) -> set[str]:
    """The distributions and all that they require."""
    found: set[tuple[str, frozenset[str]]] = set()
    asked = [Requirement(each) for each in requirements]
    while asked:
        wanted = asked.pop()
        key = _canonical(wanted.name), frozenset(wanted.extras)
        if key in found:
            continue
        found.add(key)
        try:
            needed = distribution(wanted.name).requires or []
        except PackageNotFoundError:
            continue  # for another system
        for each in map(Requirement, needed):
            if each.marker is None or any(
                each.marker.evaluate({"extra": extra}) for extra in wanted.extras | {""}
            ):
                asked.append(each)
    return {name for name, _ in found}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
