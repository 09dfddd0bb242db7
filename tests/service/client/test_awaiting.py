"""The client that is awaited: the same calls, and what is its own."""

from __future__ import annotations

import asyncio

import pytest

import crawl
from crawl.errors import NotFetchedYet, ServiceFault, UsageError
from crawl.service.client import AsyncClient, Client
from tests.service.client.small_service import small_service

A = "http://a.test/"


def test_it_does_what_the_other_does() -> None:
    async def use(address: str) -> None:
        async with crawl.connect_async(address, timeout=20) as client:
            page = await client.fetch(A)
            assert page.title == "red"
            with pytest.raises(NotFetchedYet) as late:
                await client.fetch("http://d.test/", wait=0)
            assert late.value.job_id == "j9"
            jobs = await client.submit(["http://b.test/", "http://bad.test/"])
            done = {"id": "j0", "url": "http://b.test/", "state": "finished"}
            service.jobs["j0"].append(done)
            waited = await client.wait(jobs, timeout=60)
            assert [each.state for each in waited] == ["finished", "refused"]
            assert (await client.job("j0")).is_done
            assert await client.lookup([A, "http://c.test/"]) == [page, None]
            assert await client.url(A) == page
            assert [hit.url for hit in await client.search("red")] == [A]
            with pytest.raises(ServiceFault, match="not_found"):
                await client.job("nothing")
            site = await client.crawl_site(A)
            await site.cancel()
            assert [each.url async for each in site.pages()] == [f"{A}0", f"{A}1", f"{A}2"]
            assert (await site.status()).state == "cancelled"
            assert (await client.site_crawl(site.id).status()).is_done

    with small_service() as service:
        service.pages[A] = {"url": A, "title": "red"}
        service.crawl_pages = [{"url": f"{A}{n}"} for n in range(3)]
        service.per_connection = 2
        asyncio.run(use(service.address))


def test_calls_go_on_while_streams_wait() -> None:
    async def use(address: str) -> None:
        client = AsyncClient(address, timeout=20, connections=1)
        streams = [client.events() for _ in range(3)]
        waiting = [asyncio.ensure_future(anext(each)) for each in streams]
        found = await asyncio.gather(*(client.lookup([f"{A}{n}"]) for n in range(20)))
        assert found == [[None]] * 20
        service.events.append({"job": "j0", "url": A})
        assert [each.job for each in await asyncio.gather(*waiting)] == ["j0"] * 3
        for each in streams:
            await each.aclose()
        await client.aclose()

    with small_service() as service:
        asyncio.run(use(service.address))


def test_who_is_cancelled_hangs_up() -> None:
    async def use(address: str) -> None:
        async with AsyncClient(address) as client:
            waiting = asyncio.ensure_future(anext(client.events()))
            while not service.asked:
                await asyncio.sleep(0.005)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await asyncio.to_thread(service.left.wait, 60)

    with small_service() as service:
        asyncio.run(use(service.address))


def test_a_closed_client_says_so() -> None:
    async def use() -> None:
        client = AsyncClient("http://127.0.0.1:1")
        await client.aclose()
        with pytest.raises(UsageError, match="closed"):
            await client.lookup(["http://a.test/"])

    asyncio.run(use())


def test_both_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(AsyncClient) - {"aclose"} == public(Client) - {"close"}
