"""F69, with real programs: a value of many types is what it was, in every place it goes, also after all programs were killed."""

from __future__ import annotations

from datetime import timedelta

from ankka import ComponentClient
from tests.integration.payloads.rich import RICH, RichEntity, RichValue, RichWorkflow, is_rich
from tests.integration.support.programs import Programs, wait_for

SERVICE = "tests.integration.payloads.rich"
SOON = timedelta(seconds=20)


async def test_states_events_inputs_and_replies_keep_their_types(programs: Programs) -> None:  # F69
    sidecar = programs.sidecar()
    process = programs.process(SERVICE, sidecar)
    async with ComponentClient(sidecar.url) as client:
        assert is_rich(await client.for_workflow(RichWorkflow, "r").call(RichWorkflow.start).invoke(RICH))
        entity = client.for_event_sourced_entity(RichEntity, "e")
        for _ in range(3):
            assert is_rich(await entity.call(RichEntity.add).invoke(RICH))
        await client.for_key_value_entity("rich-value", "v").call("put").invoke(RICH)  # by names, by its own class
    wait_for(lambda: sidecar.http.get("/v1/rich/r/ankka:lifecycle").json()["status"] == "Paused", "the pause")
    shown = sidecar.http.get("/v1/rich/r/show").json()
    process.kill()
    sidecar.kill()
    sidecar = programs.again(sidecar)
    programs.process(SERVICE, sidecar)
    assert sidecar.http.get("/v1/rich/r/show").json() == shown
    async with ComponentClient(sidecar.url) as client:
        workflow = client.for_workflow(RichWorkflow, "r")
        kept = await workflow.call(RichWorkflow.show).invoke()
        assert kept is not None
        assert is_rich(kept)
        assert all(map(is_rich, await client.for_event_sourced_entity(RichEntity, "e").call(RichEntity.all).invoke()))
        (value,) = (await client.for_key_value_entity(RichValue, "v").call(RichValue.get).invoke()).values()
        assert is_rich(value)
        end = await workflow.call(RichWorkflow.go).then_await_end(SOON).invoke(RICH)
        assert end is not None
        assert is_rich(end)
        assert is_rich(await client.for_workflow("rich", "r").await_end(SOON, reply=type(RICH)))
    # what HTTP showed is taken back by HTTP
    assert sidecar.http.post("/v1/rich-value/h/put", json=shown).status_code == 204
    assert sidecar.http.get("/v1/rich-value/h/get").json() == {"": shown}
