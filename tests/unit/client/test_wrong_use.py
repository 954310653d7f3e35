"""What is easily done wrong with a client, and what is said then."""

import asyncio
from dataclasses import dataclass

import pytest

from ankka import (
    Ankka,
    ComponentClient,
    Done,
    EncodingError,
    Workflow,
    WorkflowEffect,
    WorkflowStepEffect,
    WorkflowTestKit,
    command,
    json_codec,
    step,
)
from ankka.calls.caller import Origin
from tests.unit.client.hosted import hosted
from tests.unit.client.shop import OrderWorkflow
from tests.unit.client.stub_sidecar import stub_sidecar


@dataclass(frozen=True)
class Note:
    text: str = ""


class Impatient(Workflow[Note]):
    component_id = "impatient"
    state_codec = json_codec(Note, "note")

    def empty_state(self) -> Note:
        return Note()

    @command("start")
    def start(self, step_name: str) -> WorkflowEffect[Note, Done]:
        return self.effects.transition_to(step_name).then_no_reply()

    @step("own-loop")
    def own_loop(self) -> WorkflowStepEffect[Note]:
        call = self.context.client.for_workflow("other", "o1").call("look")
        return self.step_effects.update_state(asyncio.run(call.invoke(reply=Note))).then_end()

    @step("looks")
    async def looks(self) -> WorkflowStepEffect[Note]:
        return self.step_effects.update_state(await self.context.client.for_workflow("other", "o1").call("look").invoke(reply=Note)).then_end()

    @step("not-awaited")
    async def not_awaited(self) -> WorkflowStepEffect[Note]:
        looked = self.context.client.for_workflow("other", "o1").call("look").invoke(reply=Note)
        try:
            return self.step_effects.update_state(looked).then_end()  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        finally:
            self.context.resources.append(looked)  # closed by the test: nobody awaits it


async def test_a_call_in_another_loop_is_refused_at_once_instead_of_waiting_for_ever() -> None:
    async with stub_sidecar() as stub, ComponentClient(stub.url) as client:
        call = client.for_workflow("order", "o1").call("start")
        with pytest.raises(RuntimeError, match=r"the event loop it was opened on, and another one runs here; .* use \.invoke_sync"):
            await asyncio.to_thread(lambda: asyncio.run(call.invoke(1)))
    async with hosted() as (process, _):
        inside = ComponentClient.inside(process.hosting, Origin()).for_workflow("order", "o1").call("start")
        with pytest.raises(RuntimeError, match="another one runs here"):
            await asyncio.to_thread(lambda: asyncio.run(inside.invoke(1)))


def test_a_kit_refuses_it_too() -> None:
    kit = WorkflowTestKit.of(Impatient)
    kit.when("other", "look").reply(Note("seen"))
    kit.call("start", "own-loop")
    failure = kit.run().failure
    assert failure is not None
    assert failure.startswith("step 'own-loop' failed: RuntimeError: this client belongs to the event loop it was opened on")


def test_a_forgotten_await_is_named() -> None:
    forgotten: list[object] = []
    kit = WorkflowTestKit.of(Impatient, resources=forgotten)
    kit.call("start", "not-awaited")
    says = "the state it sets cannot be encoded: $: expected Note, got a coroutine: write await before the call that made it"
    assert kit.run().failure == f"step 'not-awaited' failed: {says}"
    for coroutine in forgotten:
        assert asyncio.iscoroutine(coroutine)
        coroutine.close()


async def test_an_input_of_the_wrong_type_names_the_call() -> None:
    async with ComponentClient("http://127.0.0.1:9") as client:
        start = client.for_workflow(OrderWorkflow, "o1").call(OrderWorkflow.start)
        with pytest.raises(EncodingError) as raised:
            await start.invoke("two")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert str(raised.value) == "the input of 'start' of order/o1: $: expected int, got str 'two'"


def test_a_drain_time_that_is_none_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ANKKA_DRAIN", "soon")
    with pytest.raises(SystemExit) as raised:
        Ankka.service().register(OrderWorkflow).start()
    assert raised.value.code == 1
    assert capsys.readouterr().err == "ankka: ANKKA_DRAIN='soon' is no duration; write for example 30s, 500ms, 2min\n"


def test_a_reply_of_another_type_names_the_call() -> None:
    kit = WorkflowTestKit.of(Impatient)
    kit.when("other", "look").reply(7)
    kit.call("start", "looks")
    assert kit.run().failure == "step 'looks' failed: EncodingError: the reply of 'look' of other/o1: $: expected application/json, got text/plain"
