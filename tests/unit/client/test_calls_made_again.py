"""Calls that are made again, by a later attempt or another process: the same keys, whatever finishes when (W16, F75)."""

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ankka.calls.caller import Origin
from ankka.command_error import CommandError
from ankka.protocol.frames import Call
from ankka.protocol.payload import TEXT, Payload
from tests.unit.client.keyed import REFUSAL, UNKNOWN, Ledger, Line, answer, token

DONE = Payload(b"7", TEXT)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=9), st.integers(1, 3), st.booleans(), st.randoms(use_true_random=False))
def test_f75_w16_whatever_finishes_when_and_fails_and_dies_each_call_is_done_once(
    inputs: list[int], faulty: int, retries: bool, chance: random.Random
) -> None:
    async def attempts() -> None:
        ledger = Ledger()
        for number in range(1, faulty + 1):
            await attempt(number, inputs, ledger, chance, retries=retries)
        before = set(ledger.done)
        last = await attempt(faulty + 1, inputs, ledger, chance, faultless=True)
        assert last.keys is not None
        assert before <= set(last.keys.done), "it repeats what was done"
        assert ledger.effects == Counter(b"%d" % number for number in inputs)

    asyncio.run(attempts())


FAULTS = ("done", "done", "reply lost", "refused", "cancelled", "cancelled when done", "dies", "dies when done")


async def attempt(number: int, inputs: list[int], ledger: Ledger, chance: random.Random, *, faultless: bool = False, retries: bool = False) -> Origin:
    """One attempt that makes these calls, in some order, some at once; they finish in some order, as chance has it."""
    line, origin = Line(), Origin(attempt=token(number))
    deposit = line.wallet(origin).call("deposit")
    left = chance.sample(inputs, len(inputs))

    async def one(value: int) -> None:
        for _ in range(2 if retries else 1):
            try:
                await deposit.invoke(value, reply=int)
            except CommandError:
                continue
            return

    while left:
        size = chance.randint(1, len(left))
        tasks = {asyncio.create_task(one(value)) for value in left[:size]}
        del left[:size]
        under_way: list[Call] = []
        while tasks:
            await asyncio.sleep(0)
            under_way += line.written()
            if under_way:
                call = under_way.pop(chance.randrange(len(under_way)))
                fate = "done" if faultless or ledger.knows(call) else chance.choice(FAULTS)
                meet(line, call, fate, ledger)
                if fate.startswith("dies"):
                    for task in tasks:
                        task.cancel()
                    await asyncio.wait(tasks)
                    return origin
            tasks = {task for task in tasks if not task.done()}
    return origin


def meet(line: Line, call: Call, fate: str, ledger: Ledger) -> None:
    match fate:
        case "done":
            answer(line, call, ledger.do(call))
        case "reply lost":
            ledger.do(call)
            answer(line, call, UNKNOWN)
        case "refused":
            answer(line, call, REFUSAL)
        case _:
            if fate.endswith("when done"):
                ledger.do(call)
            line.table._sent[call.request].answer.cancel()


_CHILD = """
import asyncio
from dataclasses import dataclass
from pydantic import BaseModel
from ankka.calls.caller import Origin
from ankka.client import ComponentClient
from ankka.codec import json_codec
from ankka.protocol.payload import Payload
from tests.unit.client.keyed import token

@dataclass(frozen=True)
class Order:
    lines: dict[str, int]
    tags: set[str]
    seen: frozenset[tuple[str, int]]

class Basket(BaseModel):
    tags: set[str]
    of: dict[str, set[str]]

class Link:
    loop = None
    async def ask(self, call, *, repeatable=False):
        print(call.handler, call.key.hex(), call.fresh)
        return Payload(b"", "")

words = {f"word{n}" for n in range(50)}
calls = ComponentClient.inside(Link(), Origin(attempt=token())).for_event_sourced_entity("wallet", "w1")
inputs = [
    Order({word: len(word) for word in words}, words, frozenset((word, 1) for word in words)),
    Basket(tags=words, of={word: words for word in words}),
]
async def main():
    for value in inputs:
        await calls.call(type(value).__name__).invoke(value)
asyncio.run(main())
"""


def test_w16_keys_are_the_same_in_every_process() -> None:
    # the dict is built from a set, so its order differs from process to process too
    outputs = {
        subprocess.run([sys.executable, "-c", _CHILD], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 2
