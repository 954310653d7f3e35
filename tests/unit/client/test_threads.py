"""The threads of sync steps: their number, their context, and that they stop nobody from leaving."""

import asyncio
import contextvars
import threading

import pytest

from ankka.process.threads import StepThreads

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")


async def test_a_function_runs_in_a_thread_with_the_callers_context() -> None:
    threads = StepThreads(2)
    tenant.set("acme")
    name, seen = await threads.run(lambda: (threading.current_thread().name, tenant.get()))
    assert name.startswith("ankka-step-")
    assert seen == "acme"
    threads.close()


async def test_what_it_raises_is_raised_where_it_is_awaited() -> None:
    threads = StepThreads(1)
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 // 0)
    assert await threads.run(lambda: 7) == 7, "the thread goes on"
    threads.close()


async def test_no_more_than_its_size_run_at_once() -> None:
    threads = StepThreads(2)
    both = threading.Barrier(2)
    names = await asyncio.gather(*[threads.run(lambda: (both.wait(5), threading.current_thread().name)[1]) for _ in range(6)])
    assert len(set(names)) == 2
    threads.close()


async def test_closing_waits_for_nobody() -> None:
    threads = StepThreads(1)
    gate = threading.Event()
    stuck = threads.run(gate.wait)
    threads.close()
    with pytest.raises(asyncio.CancelledError):
        await stuck
    gate.set()


async def test_a_step_holds_no_thread_that_keeps_a_program_alive() -> None:
    threads = StepThreads(1)
    assert await threads.run(lambda: threading.current_thread().daemon) is True
    threads.close()
