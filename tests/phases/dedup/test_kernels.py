"""The kernels of dedup beside the same written out one by one."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.phases.dedup.rules import Nearness
from crawl.phases.dedup.tasks import near
from crawl.phases.dedup.tasks.components import (
    CLUSTERS,
    EDGES,
    ComponentsJob,
    contract,
    large_star,
    send_clusters,
    small_star,
)
from crawl.phases.dedup.tasks.groups import find_groups
from crawl.phases.dedup.tasks.keys import GroupKeys, decoded_lengths
from crawl.phases.dedup.tasks.near import fingerprint_keys
from crawl.phases.dedup.tasks.pairs import pairs_to_compare
from crawl.phases.dedup.tasks.shingles import SAMPLE, sample_texts
from crawl.phases.dedup.tasks.sketches import minima, similarities, sketch_bytes, without_templates
from crawl.plugins.signature.simhash import distance
from crawl.storage.folder import Folder
from crawl.tables.exchange import Outbox, Received
from tests.examples import scaled
from tests.phases.dedup.edited_pages import edited, words_of

_NUMBERS = st.integers(0, 30)


@settings(max_examples=scaled(200), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), _NUMBERS), max_size=40))
def test_the_best_of_each_group(rows: list[tuple[int, int, int]]) -> None:
    high, low, rank = (np.array([row[at] for row in rows], np.uint64) for at in range(3))
    groups = find_groups(GroupKeys(high, low))
    ids = np.arange(len(rows))
    best = groups.places[groups.best([rank.astype(np.int64), ids])].tolist()
    wanted: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for at, (one, two, value) in enumerate(rows):
        wanted.setdefault((one, two), []).append((value, at))
    several = [each for each in wanted.values() if len(each) > 1]
    assert sorted(best) == sorted(min(each)[1] for each in several)
    assert sorted(groups.sizes.tolist()) == sorted(map(len, several))


@settings(max_examples=scaled(200), deadline=None)
@given(
    st.lists(
        st.text(st.sampled_from("xyä日"), max_size=6)
        | st.sampled_from(["%41", "%C3%A4", "%E6%97%A5", "%4", "%", "%zz", "x%41%42y"]),
        max_size=8,
    )
)
def test_lengths_of_decoded_urls(urls: list[str]) -> None:
    assert decoded_lengths(pa.array(urls, pa.string())).tolist() == [
        len(unquote(url)) for url in urls
    ]


def _components(edges: list[tuple[int, int]]) -> dict[int, int]:
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    for one, other in edges:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    return {node: root(node) for node in list(parent)}


_EDGES = st.lists(
    st.tuples(_NUMBERS, _NUMBERS).filter(lambda edge: edge[0] != edge[1]), max_size=40
)


@settings(max_examples=scaled(200), deadline=None)
@given(_EDGES)
def test_edges_are_contracted_to_stars(edges: list[tuple[int, int]]) -> None:
    ones, others = (np.array([edge[at] for edge in edges], np.int64) for at in (0, 1))
    leaves, centres = contract(ones, others)
    found = dict(zip(leaves.tolist(), centres.tolist(), strict=True))
    assert found == {node: least for node, least in _components(edges).items() if node != least}


@settings(max_examples=scaled(100), deadline=None)
@given(_EDGES, st.integers(1, 4))
def test_stars_by_exchange(edges: list[tuple[int, int]], destinations: int) -> None:
    assert _stars(edges, destinations)[0] == _components(edges)


def test_a_chain_is_a_star_after_few_rounds() -> None:
    names = list(range(500))
    random.Random(1).shuffle(names)
    found, rounds = _stars(list(pairwise(names)), 5)
    assert set(found.values()) == {0} and len(found) == 500
    assert rounds < 15


def _stars(edges: list[tuple[int, int]], destinations: int) -> tuple[dict[int, int], int]:
    """The clusters by the steps of the exchange, and how many rounds it took."""
    job = ComponentsJob(Folder("/nowhere"), destinations)
    both = np.array([*edges, *(edge[::-1] for edge in edges)], np.int64).reshape(-1, 2)
    outbox = Outbox(0)
    from crawl.phases.dedup.tasks.components import _send

    _send(job, both[:, 0], both[:, 1], outbox)
    boxes = [outbox]
    before, rounds = None, 0
    while True:
        for step in (large_star, small_star):
            received = _received(boxes, destinations)
            boxes = [Outbox(number) for number in range(destinations)]
            sums = [
                step(job, number, received[number], boxes[number]) for number in range(destinations)
            ]
        rounds += 1
        if sums == before:
            break
        before = sums
    final = Outbox(0)
    for number, each in enumerate(_received(boxes, destinations)):
        send_clusters(job, number, each, final)
    rows = Received(block for _, block in final.blocks).rows(CLUSTERS)
    columns = rows["node"].to_pylist(), rows["cluster"].to_pylist()
    assert EDGES.schema.names == ["node", "other"]
    return dict(zip(*columns, strict=True)), rounds  # type: ignore[arg-type]


def _received(boxes: list[Outbox], destinations: int) -> list[Received]:
    return [
        Received(block for box in boxes for to, block in box.blocks if to == number)
        for number in range(destinations)
    ]


def test_samples_know_words_and_scripts_without_blanks() -> None:
    texts = ["", "Hello world", "hello, WORLD!", "日本語水山", "日本語", "a b c d", "!?"]
    samples = sample_texts(pa.array(texts))
    assert np.diff(samples.offsets).tolist() == [0, 1, 1, 3, 1, 2, 0]
    first, second = samples.values[:2].tolist()
    assert first == second
    long = sample_texts(pa.array([" ".join(map(str, range(5000)))]))
    assert len(long.values) == SAMPLE and (np.diff(long.values.astype(np.int64)) > 0).all()


def test_samples_do_not_depend_on_the_texts_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    texts = [" ".join(words_of(chance, chance.randint(0, 90))) for _ in range(40)]
    whole = sample_texts(pa.array(texts))
    monkeypatch.setattr("crawl.phases.dedup.tasks.shingles._BATCH_BYTES", 700)
    parted = sample_texts(pa.array(["x y z", *texts]).slice(1))
    assert whole.values.tolist() == parted.values.tolist()
    assert whole.offsets.tolist() == parted.offsets.tolist()


def test_similarity_is_the_share_of_common_shingles() -> None:
    chance = random.Random(5)
    for share in (0.02, 0.1, 0.3):
        words = [words_of(chance, 400) for _ in range(60)]
        copies = [edited(chance, each, share) for each in words]
        texts = [" ".join(each) for each in [*words, *copies]]
        triples = [
            set(zip(*(each.split()[at:] for at in range(3)), strict=False)) for each in texts
        ]
        truth = [len(a & b) / len(a | b) for a, b in zip(triples[:60], triples[60:], strict=True)]
        sketches = sketch_bytes(minima(sample_texts(pa.array(texts))))
        found = similarities(sketches[:60], sketches[60:])
        assert abs(found.mean() - np.mean(truth)) < 0.03


def test_what_a_host_repeats_is_left_out_and_nothing_else() -> None:
    chance = random.Random(6)
    menu = words_of(chance, 80)
    own = [words_of(chance, 40) for _ in range(6)]
    texts = [" ".join([*menu, *each]) for each in own] + [" ".join(menu)] * 2
    hosts = np.array([1] * 6 + [2] * 2, np.uint64)
    samples = without_templates(sample_texts(pa.array(texts)), hosts)
    counts = np.diff(samples.offsets).tolist()
    assert all(count <= 42 for count in counts[:6]) and counts[6] > 70


@pytest.mark.parametrize("expected", [10, 1_000_000, 10**10])
def test_close_fingerprints_share_a_key(expected: int) -> None:
    chance = np.random.default_rng(3)
    values = chance.integers(0, 1 << 64, 300, np.uint64, endpoint=False)
    bits = [chance.choice(64, 3, replace=False) for _ in values]
    flips = np.array([sum(1 << int(bit) for bit in each) for each in bits], np.uint64)
    one, other = (fingerprint_keys(each, 3, expected) for each in (values, values ^ flips))
    assert (one == other).any(axis=1).all()


def test_distances_are_those_of_the_signature() -> None:
    raw = np.random.default_rng(4).integers(0, 256, (40, 8)).astype(np.uint8)
    raw[20:] = raw[:20] ^ np.eye(20, 8, dtype=np.uint8) * 7
    pairs = list(combinations(range(40), 2))
    one, other = np.array(pairs).T
    found = near.is_near(Nearness.parse("hamming=3"), raw[one], raw[other])
    assert found.tolist() == [distance(raw[a].tobytes(), raw[b].tobytes()) <= 3 for a, b in pairs]


def test_under_a_crowded_key_each_is_compared_with_a_few() -> None:
    count = 5000
    groups = find_groups(GroupKeys(np.zeros(count, np.uint64), np.zeros(count, np.uint64)))
    sketches = np.zeros((count, 8), np.uint8)
    assert sum(len(one) for one, _ in pairs_to_compare(groups, sketches)) == 2 * (count - 1)
