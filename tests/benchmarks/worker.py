"""The process of a benchmark: hosts the components and drives them from the same loop, then prints its figures as JSON.

`python -m tests.benchmarks.worker WORKLOAD IN_FLIGHT COUNT`, with the sidecar's address in `ANKKA_SIDECAR`.
"""

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from ankka.client import ComponentClient
from ankka.service import Ankka
from tests.benchmarks.workloads import CallingTransfer, KeylessTransfer, PlainTransfer, Transfer, Wallet

WARM_UP = 200
PATIENCE = timedelta(seconds=60)


async def closed_loop(total: int, in_flight: int, one: Callable[[int], Awaitable[None]], first: int) -> list[float]:
    """Run `one(i)` for `total` numbers from `first`, `in_flight` at a time; each one's seconds."""
    numbers = iter(range(first, first + total))
    seconds: list[float] = []

    async def lane() -> None:
        for number in numbers:
            began = time.perf_counter()
            await one(number)
            seconds.append(time.perf_counter() - began)

    await asyncio.gather(*(lane() for _ in range(in_flight)))
    return seconds


def plain(client: ComponentClient) -> Callable[[int], Awaitable[None]]:
    """Start one, await its end."""

    async def one(number: int) -> None:
        calls = client.for_workflow("plain", f"t{number}")
        await calls.call("start").invoke(Transfer("a", "b", 10))
        await calls.await_end(PATIENCE, reply=Transfer)

    return one


def starts(client: ComponentClient) -> Callable[[int], Awaitable[None]]:
    """Start one, durable before the reply; its steps run meanwhile."""

    async def one(number: int) -> None:
        await client.for_workflow("plain", f"t{number}").call("start").invoke(Transfer("a", "b", 10))

    return one


def queries(client: ComponentClient) -> Callable[[int], Awaitable[None]]:
    """Ask a resident instance its status."""

    async def one(number: int) -> None:
        await client.for_workflow("plain", f"t{number % WARM_UP}").call("status").invoke(reply=Transfer)

    return one


def calling(component: str) -> Callable[[ComponentClient], Callable[[int], Awaitable[None]]]:
    """Start a transfer between two wallets of its own, await its end."""

    def of(client: ComponentClient) -> Callable[[int], Awaitable[None]]:
        async def one(number: int) -> None:
            calls = client.for_workflow(component, f"{component}{number}")
            await calls.call("start").invoke(Transfer(f"{component}{number}a", f"{component}{number}b", 10))
            await calls.await_end(PATIENCE, reply=Transfer)

        return one

    return of


def deposits(key: bool) -> Callable[[ComponentClient], Callable[[int], Awaitable[None]]]:
    """Deposit into one of 200 wallets that have lived, with a key of the caller's or without."""

    def of(client: ComponentClient) -> Callable[[int], Awaitable[None]]:
        async def one(number: int) -> None:
            call = client.for_event_sourced_entity("wallet", f"w{number % WARM_UP}").call("add")
            await (call.with_idempotency_key(f"deposit {number}") if key else call).invoke(1, reply=int)

        return one

    return of


WORKLOADS = {
    "plain": plain,
    "starts": starts,
    "queries": queries,
    "calling": calling("calling"),
    "keyless": calling("keyless"),
    "deposits": deposits(key=False),
    "keyed": deposits(key=True),
}


async def measure(workload: str, in_flight: int, total: int) -> dict[str, float]:
    """One run."""
    service = Ankka.service().register(PlainTransfer).register(CallingTransfer).register(KeylessTransfer).register(Wallet)
    hosting = asyncio.create_task(service.listen())
    async with ComponentClient(os.environ["ANKKA_SIDECAR"]) as client:
        await closed_loop(WARM_UP, min(in_flight, WARM_UP), plain(client), 0)
        await closed_loop(WARM_UP, min(in_flight, WARM_UP), deposits(key=False)(client), 0)
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        seconds = await closed_loop(total, in_flight, WORKLOADS[workload](client), WARM_UP)
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_SELF)
    hosting.cancel()
    await asyncio.gather(hosting, return_exceptions=True)
    ordered = sorted(seconds)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "per_second": total / wall,
        "p50_ms": ordered[len(ordered) // 2] * 1e3,
        "p99_ms": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1e3,
        "process_cpu_us": cpu / total * 1e6,
    }


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        run = asyncio.run
    else:
        run = uvloop.run
    print(json.dumps(run(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
