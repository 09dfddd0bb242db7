"""Hosts by a power law, one of them a giant, and URLs on them as sites write them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from crawldb_shape import Shape

from crawl.storage.layout import bucket_of


@dataclass(frozen=True, slots=True)
class Hosts:
    names: npt.NDArray[np.object_]
    prefixes: npt.NDArray[np.object_]
    counts: npt.NDArray[np.int64]
    bucket: npt.NDArray[np.int32]


def _words(text: str) -> list[str]:
    return text.split()


_STARTS = _words("www www www blog news shop m forum docs en wiki static")
_STEMS = _words(
    "alpine amber atlas birch bright cedar cloud coast copper delta echo ember fern field flint "
    "forge garden harbor hazel indigo iron jade juniper kite lark lemon lime linden maple "
    "marble meadow mint north oak ocean onyx opal orbit pearl pine prairie quartz raven reef "
    "river sage shore silver slate solar spruce stone storm sun thistle tidal timber valley "
    "violet walnut willow winter zephyr"
)
_TLDS = _words("com com com com org net de co.uk fr it jp com.au io info edu")
_SECTIONS = _words(
    "article articles/archive blog category/reviews community docs/guide en/products events "
    "forum help/faq images item news news/local news/world people places posts products/detail "
    "questions recipes research services shop/catalogue sport stories tag/featured topics "
    "travel/europe users wiki"
)
_ENDINGS = {
    "": 0.38,
    ".html": 0.24,
    "/": 0.14,
    ".htm": 0.04,
    ".php": 0.03,
    "?page=2": 0.05,
    "?id=1042&lang=en": 0.04,
    ".pdf": 0.02,
    ".jpg": 0.03,
    ".css": 0.01,
    "?utm_source=feed": 0.02,
}


@cache
def hosts_of(shape: Shape) -> Hosts:
    rng = np.random.default_rng([shape.seed, 1])
    starts, first, second, tlds = (
        rng.choice(words, shape.hosts) for words in (_STARTS, _STEMS, _STEMS, _TLDS)
    )
    names = np.array(
        [
            f"{start}.{one}{two}{number if number % 3 else ''}.{tld}"
            for number, (start, one, two, tld) in enumerate(
                zip(starts, first, second, tlds, strict=True)
            )
        ],
        dtype=object,
    )
    names = np.array(_distinct(names.tolist()), dtype=object)
    schemes = np.where(rng.random(shape.hosts) < 0.93, "https://", "http://")
    giant = max(1, int(shape.urls * shape.giant))
    weights = np.arange(2.0, shape.hosts + 1.0) ** -0.9
    rest = shape.urls - giant - (shape.hosts - 1)
    counts = 1 + np.floor(weights / weights.sum() * rest).astype(np.int64)
    counts[: shape.urls - giant - int(counts.sum())] += 1
    return Hosts(
        names,
        np.array([f"{scheme}{name}/" for scheme, name in zip(schemes, names, strict=True)], object),
        np.append(giant, counts),
        np.array([bucket_of(name, shape.buckets) for name in names], dtype=np.int32),
    )


def _distinct(names: list[str]) -> list[str]:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            names[place] = name = f"{place}.{name}"
        seen.add(name)
    return names


def urls_on(
    prefixes: pa.Array,
    hosts: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> pa.Array:
    """URLs in normal form; no two of a host with different numbers are the same."""
    vocabulary = [""] + [
        f"{section}/{one}-{two}-{three}-"
        for section in _SECTIONS
        for one, two, three in rng.choice(_STEMS, (300, 3)).tolist()
    ]
    middle = rng.integers(1, len(vocabulary), len(hosts))
    endings = list(_ENDINGS)
    ending = rng.choice(len(endings), len(hosts), p=list(_ENDINGS.values()))
    is_home = numbers == 0
    middle[is_home] = 0
    ending[is_home] = 0
    # an odd factor makes this a permutation of all 32-bit numbers: scattered, never twice
    scattered = (numbers.astype(np.uint64) * np.uint64(2_654_435_761)).astype(np.uint32)
    identifier = pc.if_else(pa.array(is_home), "", pa.array(scattered).cast(pa.string()))
    return pc.binary_join_element_wise(
        prefixes.take(pa.array(hosts)),
        pa.array(vocabulary).take(pa.array(middle)),
        identifier,
        pa.array(endings).take(pa.array(ending)),
        "",
    )
