from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.errors import StorageError
from crawl.storage.host_ranks import HostRanks, load_host_ranks
from tests.examples import scaled

RANKS = {"a.org": 3.0, "www.b.org": 1.0, "c.org": 2.0}
COMMON_CRAWL = (
    "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\n"
    "1\t3.0E0\t5\t0.01\torg.a\n2\t2.0\t4\t0.01\torg.c\n3\t1.0\t1\t0.5\torg.b.www\n"
)


def assert_known(ranks: HostRanks) -> None:
    found = ranks.of_hosts(pa.array([*RANKS, "x.org"]), 9.0)
    assert found.tolist() == [1.5, 0.5, 1.0, 9.0]


def test_every_form_of_the_table(tmp_path: Path) -> None:
    text = "".join(f"{host}\t{rank}\n" for host, rank in RANKS.items())
    (tmp_path / "plain.txt").write_text(text)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "commoncrawl.gz").write_bytes(gzip.compress(COMMON_CRAWL.encode()))
    pq.write_table(pa.table({"host": list(RANKS), "rank": list(RANKS.values())}), tmp_path / "ours")
    turned = [".".join(reversed(host.split("."))) for host in RANKS]
    pq.write_table(
        pa.table({"host_rev": turned, "score": list(RANKS.values())}), tmp_path / "theirs"
    )
    for name in ("plain.txt", "packed.gz", "commoncrawl.gz", "ours", "theirs"):
        assert_known(load_host_ranks(str(tmp_path / name), 100))


def test_the_highest_ranks_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "ranks"
    file.write_text("".join(f"h{number}.org\t{number}\n" for number in range(1000)))
    ranks = load_host_ranks(str(file), 10)
    assert len(ranks) == 10
    assert ranks.of_host("h989.org", -1.0) == -1.0
    assert ranks.of_host("h990.org", -1.0) > 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a.org\t1\nb.org\n", "line 2 is not"),
        (b"a.org\tmuch\n", "line 1 is not"),
        (b"\x1f\x8bgarbage", "is no file of host ranks"),
        (gzip.compress(b"a.org\t1\n" * 999, mtime=0)[:-20], "is no file of host ranks"),
        (b"PAR1garbage", "is no file of host ranks"),
    ],
)
def test_what_is_no_table_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "ranks").write_bytes(content)
    with pytest.raises(StorageError, match=message) as raised:
        load_host_ranks(str(tmp_path / "ranks"), 10)
    assert "\n" not in str(raised.value)


def test_a_parquet_file_of_something_else(tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": ["x"]}), tmp_path / "other")
    with pytest.raises(StorageError, match="no columns host and rank, but url"):
        load_host_ranks(str(tmp_path / "other"), 10)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats()), max_size=20))
@settings(max_examples=scaled(100))
def test_any_numbers_make_finite_ranks_of_mean_1(rows: list[tuple[str, float]]) -> None:
    ranks = HostRanks.of([host for host, _ in rows], [rank for _, rank in rows])
    for host in "abcdef":
        assert 0 <= ranks.of_host(host, 0.5) < float("inf")
    if len(ranks) and ranks.ranks.any():
        assert ranks.ranks.mean() == pytest.approx(1.0, rel=1e-3)
