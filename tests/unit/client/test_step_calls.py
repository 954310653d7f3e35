"""The calls of steps and keyed commands as a process sends them, and what it says of them when a step has ended (W15, W16)."""

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import Any

import pytest

from ankka import CommandError, ComponentClient, Done, Workflow, WorkflowEffect, WorkflowStepEffect, command, json_codec, step
from ankka.protocol import keys
from ankka.protocol.attempt import Token
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import (
    Call,
    CallRefused,
    CallReplied,
    Fingerprint,
    Fingerprinted,
    Refused,
    RunCommand,
    RunStep,
    StepDone,
    StepFaulted,
    WorkflowCommandDone,
)
from ankka.protocol.payload import NOTHING, TEXT, Payload
from tests.unit.client.hosted import hosted
from tests.unit.client.shop import CartEntity, Notes
from tests.unit.client.stub_sidecar import StubSession, stub_sidecar


class Transfer(Workflow[int]):
    component_id = "transfer"
    state_codec = json_codec(int, "transfer")

    def empty_state(self) -> int:
        return 0

    def _cart(self) -> Any:
        return self.context.client.for_event_sourced_entity(CartEntity, "k1")

    @command("add")
    async def add(self, quantity: int) -> WorkflowEffect[int, Done]:
        total: int = await self._cart().call(CartEntity.add).invoke(quantity)
        return self.effects.update_state(total).then_no_reply()

    @step("add")
    async def add_step(self) -> WorkflowStepEffect[int]:
        total: int = await self._cart().call(CartEntity.add).invoke(10)
        return self.step_effects.update_state(total).then_end()

    @step("add-in-thread")
    def add_in_thread(self) -> WorkflowStepEffect[int]:
        return self.step_effects.update_state(self._cart().call(CartEntity.add).invoke_sync(10)).then_end()

    @step("all-kinds")
    async def all_kinds(self) -> WorkflowStepEffect[int]:
        cart = self._cart()
        calls = [
            cart.call(CartEntity.add).named("fee").invoke(10),
            cart.call(CartEntity.add).with_idempotency_key(None).invoke(10),
            cart.call(CartEntity.add).with_idempotency_key("mine").invoke(10),
            cart.call(CartEntity.quantity).invoke(),
            cart.call("quantity").invoke(reply=int),
            cart.call("add").invoke(11, reply=int),
        ]
        for call in calls:
            with contextlib.suppress(CommandError):
                await call
        return self.step_effects.then_end()

    @step("five-at-once")
    async def five_at_once(self) -> WorkflowStepEffect[int]:
        add = self._cart().call(CartEntity.add)
        return self.step_effects.update_state(sum(await asyncio.gather(*(add.invoke(10) for _ in range(5))))).then_end()

    @step("draw")
    async def draw(self) -> WorkflowStepEffect[int]:
        notes: Notes = self.context.resources
        notes.said += [str(self.context.now()), *sorted(await asyncio.gather(*(asyncio.to_thread(self._drawn) for _ in range(20))))]
        return self.step_effects.then_end()

    @step("draw-in-thread")
    def draw_in_thread(self) -> WorkflowStepEffect[int]:
        notes: Notes = self.context.resources
        notes.said += [str(self.context.now()), *sorted(self._drawn() for _ in range(20))]
        return self.step_effects.then_end()

    def _drawn(self) -> str:
        return str(self.context.uuid())


AT = 1_700_000_000_000_000


def token(attempt: int = 1) -> Token:
    return Token("transfer", "t1", 1, 1, 3, attempt)


def run(name: str, attempt: int = 1) -> RunStep:
    return RunStep(token(attempt), name, None, Payload(b"0"), 4, 4, 10_000_000, at=AT)


async def replied(session: StubSession, reply: int | Error = 7) -> Call:
    """The next call, answered."""
    call = await session.expect(Call)
    await session.send(CallRefused(call.request, reply) if isinstance(reply, Error) else CallReplied(call.request, Payload(b"%d" % reply, TEXT)))
    return call


@pytest.mark.parametrize("name", ["add", "add-in-thread"])
async def test_w16_a_retried_step_sends_the_same_key_and_says_that_the_call_was_done(name: str) -> None:
    async with hosted(Transfer) as (_, session):
        await session.send(run(name))
        first = await replied(session)
        assert (await session.expect(StepDone)).calls is None, "the first attempt repeats nothing"
        await session.send(run(name, 2))
        second = await replied(session)
        done = await session.expect(StepDone)
        assert first.key is not None
        assert first.key.startswith(keys.of_visit(token()))
        assert (second.key, first.fresh, second.fresh) == (first.key, True, False)
        assert done.calls == (first.key,)


async def test_w16_async_and_sync_steps_send_the_same_keys() -> None:
    async with hosted(Transfer) as (_, session):
        await session.send(run("add"))
        first = await replied(session)
        await session.expect(StepDone)
        await session.send(run("add-in-thread", 2))
        assert (await replied(session)).key == first.key


async def test_w16_a_call_that_was_not_done_is_not_listed() -> None:
    async with hosted(Transfer) as (_, session):
        await session.send(run("all-kinds", 2))
        refusal = Error(ErrorCode.CONFLICT, "not now")
        sent = [await replied(session, reply) for reply in (7, 7, 7, 7, 7, refusal)]
        named, plain, own, typed_query, query, refused = [call.key for call in sent]
        done = await session.expect(StepDone)
        assert done.calls == (named, query), "which of them changes nothing is not known here; a reply of a query is not recorded"
        assert plain is None
        assert own == keys.of_caller("cart", "k1", "mine")
        assert typed_query is None
        assert refused is not None
        assert not any(call.fresh for call in sent)


async def test_f75_w16_calls_at_once_have_the_same_keys_whichever_were_done() -> None:
    # the first attempt dies when the third and fifth of five were done
    async with hosted(Transfer) as (_, session):
        await session.send(run("five-at-once"))
        first = [await session.expect(Call) for _ in range(5)]
        for call in (first[4], first[2]):
            await session.send(CallReplied(call.request, Payload(b"7", TEXT)))
        await session.send(CallRefused(first[1].request, Error(ErrorCode.UNAVAILABLE, "died")))
        faulted = None
        while not isinstance(faulted, StepFaulted):
            faulted = await session.received.get()
        await session.send(run("five-at-once", 2))
        second = [await session.expect(Call) for _ in range(5)]
        for call in second:
            await session.send(CallReplied(call.request, Payload(b"7", TEXT)))
        assert len({call.key for call in first}) == 5
        assert {call.key for call in second} == {call.key for call in first}
        assert all(call.fresh for call in first)
        assert not any(call.fresh for call in second)
        assert set((await session.expect(StepDone)).calls or ()) == {call.key for call in first}


async def test_f42_w16_a_call_whose_connection_is_lost_is_sent_again_with_its_key_and_not_as_fresh() -> None:
    async with hosted(Transfer) as (process, session):
        await session.send(run("add"))
        first = await session.expect(Call)
        session.drop()
        second = await process.stub.session()
        again = await replied(second)
        assert (again.key, first.fresh, again.fresh) == (first.key, True, False)
        await second.expect(StepDone)


async def test_f42_w15_a_clients_call_with_a_key_is_sent_again_when_its_connection_is_lost() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        start = client.for_workflow("transfer", "t1").call("start").with_idempotency_key("order-7")
        asked = asyncio.ensure_future(start.invoke(3))
        first = await stub.session()
        lost = await first.expect(Call)
        first.drop()
        second = await stub.session()
        again = await second.expect(Call)
        await second.send(CallReplied(again.request, Payload(b"", NOTHING)))
        await asked
        assert again.key == lost.key == keys.of_caller("transfer", "t1", "order-7")


async def test_w16_a_commands_calls_have_keys_if_it_has_one() -> None:
    async with hosted(Transfer) as (_, session):
        sent: list[Call] = []
        for request, key in enumerate((b"u1", b"u1", b"u2", None), 1):
            await session.send(RunCommand(request, "transfer", "t1", "add", Payload(b"3", TEXT), None, 0, 1_000_000, key=key))
            sent.append(await replied(session))
            done = await session.expect(WorkflowCommandDone)
            assert len(done.fingerprint) == (0 if key is None else 16)
        one, again, other, none = [call.key for call in sent]
        assert one == again != other
        assert one is not None
        assert (one[:1], len(one)) == (keys.COMMAND, 17)
        assert none is None
        assert not any(call.fresh for call in sent)


async def test_w15_a_process_says_which_input_a_key_came_with() -> None:
    async with hosted(Transfer) as (_, session):
        await session.send(RunCommand(1, "transfer", "t1", "add", Payload(b"3", TEXT), None, 0, 1_000_000, key=b"u1"))
        await replied(session)
        done = await session.expect(WorkflowCommandDone)
        await session.send(Fingerprint(2, "transfer", "t1", "add", Payload(b" 3 "), 1_000_000))
        assert await session.expect(Fingerprinted) == Fingerprinted(2, done.fingerprint)
        await session.send(Fingerprint(3, "transfer", "t1", "add", Payload(b'"x"'), 1_000_000))
        assert (await session.expect(Refused)).error.code is ErrorCode.BAD_REQUEST
        await session.send(Fingerprint(4, "nobody", "t1", "add", Payload(b"3"), 1_000_000))
        assert (await session.expect(Refused)).error.code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize("name", ["draw", "draw-in-thread"])
async def test_w16_now_is_the_visits_instant_and_what_threads_draw_at_once_is_drawn_once(name: str) -> None:
    async with hosted(Transfer) as (process, session):
        drawn: list[list[str]] = []
        for attempt in (1, 2):
            await session.send(run(name, attempt))
            await session.expect(StepDone)
            drawn.append(process.notes.said.copy())
            process.notes.said.clear()
        assert drawn[0] == drawn[1]
        assert drawn[0][0] == str(datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC))
        assert len(set(drawn[0])) == 21
