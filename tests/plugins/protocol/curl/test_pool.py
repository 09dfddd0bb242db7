"""Which handle serves a host, and what is kept of hosts that were asked once."""

from __future__ import annotations

from crawl.config import Config
from crawl.plugins.protocol.curl.handle import CurlHandle
from crawl.plugins.protocol.curl.pool import CurlPool
from crawl.plugins.protocol.shared.limits import TransferLimits


def made() -> CurlHandle:
    return CurlHandle(TransferLimits.of(Config.of({})), lambda: 0.0)


def test_a_host_gets_its_own_handle_again() -> None:
    pool = CurlPool(made, 2)
    first, second = pool.acquire("a"), pool.acquire("b")
    pool.release(first)
    pool.release(second)
    assert pool.acquire("b") is second
    assert pool.acquire("a") is first


def test_nothing_is_kept_of_a_host_whose_handle_was_closed() -> None:
    """A handle that is given back when there are enough is closed, and its host forgotten."""
    pool = CurlPool(made, 1)
    for number in range(50):
        known = pool.acquire(f"a{number}")
        other = pool.acquire(f"b{number}")
        pool.release(known)
        assert pool.acquire(f"a{number}") is known
        pool.release(other)
        pool.release(known)
    assert len(pool._idle) == 1
    assert len(pool._by_key) == 1
    pool.close()
    assert not pool._by_key
