"""No credit is needed by what somebody waits for: steps, commands and folds that wait for each other go on (DESIGN §4)."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import pytest

from tests.integration.limits.conftest import SERVICE
from tests.integration.support.programs import Programs, Sidecar, wait_for

AT_ONCE = 300
"""Commands at once: more than a process takes."""
AT_ONCE_IN_A_PROCESS = 256
"""What a process's hello says."""


def _post(http: httpx.Client, handler: str, chain: list[str]) -> httpx.Response:
    return http.post(f"/v1/relay/{chain[0]}/{handler}", json=chain[1:])


def relayed(sidecar: Sidecar, chains: list[list[str]], handler: str = "relay") -> list[httpx.Response]:
    """Call the first of each chain, which calls the next, and so on; all chains at once."""
    with (
        httpx.Client(base_url=sidecar.url, timeout=40, trust_env=False, limits=httpx.Limits(max_connections=None)) as http,
        ThreadPoolExecutor(len(chains)) as pool,
    ):
        return list(pool.map(partial(_post, http, handler), chains))


@pytest.mark.parametrize(("step", "count"), [("calls", 200), ("calls-sync", 40)])
def test_a_process_full_of_steps_that_call_entities_of_that_process_goes_on(programs: Programs, step: str, count: int) -> None:
    sidecar = programs.sidecar()
    programs.process(SERVICE, sidecar, {"STEPS": "50", "SYNC_STEPS": "4"})
    for number in range(count):
        assert sidecar.http.post(f"/v1/caller/w{number}/start", json=step).status_code == 204
    for number in range(count):
        assert sidecar.http.get(f"/v1/caller/w{number}/ankka:await").status_code == 200
        assert sidecar.http.get(f"/v1/relay/w{number}-b/count").json() == 5


def test_more_chains_of_commands_than_a_process_takes_commands_go_on(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(SERVICE, sidecar)
    chains = [[f"c{number}-{depth}" for depth in range(5)] for number in range(AT_ONCE)]
    began = time.monotonic()
    answers = relayed(sidecar, chains)
    assert {answer.status_code for answer in answers} == {200}, next(answer.text for answer in answers if not answer.is_success)
    assert time.monotonic() - began < 9, "a handler's time was waited for"


def test_commands_that_wait_for_instances_which_must_be_folded_go_on(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(SERVICE, sidecar)
    chains = [[f"f{number}-{depth}" for depth in range(2)] for number in range(AT_ONCE)]
    assert {answer.status_code for answer in relayed(sidecar, chains)} == {200}
    sidecar.kill()
    sidecar = programs.again(sidecar)
    sidecar.wait_until_ready()
    # As many heads as a process takes are out, then all call instances that are to be folded.
    for chain in chains:
        assert sidecar.http.get(f"/v1/relay/{chain[0]}/count").json() == 1
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(relayed, sidecar, chains, "gated-relay")
        wait_for(lambda: len(list(programs.folder.glob("begun-*"))) >= AT_ONCE_IN_A_PROCESS, "that many commands")
        (programs.folder / "gate").touch()
        answers = coming.result()
    assert {answer.status_code for answer in answers} == {200}, next(answer.text for answer in answers if not answer.is_success)
    assert sidecar.http.get("/v1/relay/f0-1/count").json() == 2


def test_a_step_may_make_more_calls_at_once_than_there_is_credit_for(http: httpx.Client, one: str) -> None:
    assert http.post(f"/v1/caller/{one}/start", json="fans-out").status_code == 204
    assert http.get(f"/v1/caller/{one}/ankka:await").status_code == 200
    assert {http.get(f"/v1/relay/{one}-{number}/count").json() for number in range(50)} == {100}


def test_a_long_chain_of_commands_answers(http: httpx.Client, one: str) -> None:
    path = [f"{one}-{depth}" for depth in range(60)]
    answer = http.post(f"/v1/relay/{one}/relay", json=path)
    assert (answer.status_code, answer.json()) == (200, 1)


def test_a_ring_of_calls_is_refused_at_once_and_named(http: httpx.Client, one: str) -> None:
    # F90
    began = time.monotonic()
    ring = [f"{one}b", f"{one}c", f"{one}a"]
    refused = http.post(f"/v1/relay/{one}a/relay", json=ring)
    assert time.monotonic() - began < 2
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert f"relay/{one}a -> relay/{one}b -> relay/{one}c -> relay/{one}a" in refused.json()["detail"]
    for name in ("a", "b", "c"):
        assert http.get(f"/v1/relay/{one}{name}/count").json() == 0
    assert http.post(f"/v1/relay/{one}a/relay", json=[f"{one}b"]).json() == 1


def test_a_command_that_calls_its_own_instance_is_refused_at_once(http: httpx.Client, one: str) -> None:
    # F90: A -> A
    refused = http.post(f"/v1/relay/{one}/relay", json=[one])
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert f"relay/{one} -> relay/{one}" in refused.json()["detail"]
    assert http.post(f"/v1/relay/{one}/relay", json=[]).json() == 1


def test_a_ring_that_leads_through_a_query_is_refused_as_well(http: httpx.Client, one: str) -> None:
    # F90: a query may call a command of its own instance, but not one of the instance whose command called it
    refused = http.post(f"/v1/relay/{one}a/relay-to-query", json=[f"{one}b", f"{one}a"])
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert f"relay/{one}a -> query relay/{one}b -> relay/{one}a" in refused.json()["detail"]
    assert http.post(f"/v1/relay/{one}a/relay-to-query", json=[f"{one}b", f"{one}b"]).json() == 1
    assert http.get(f"/v1/relay/{one}b/count").json() == 1


def test_more_queries_that_call_queries_than_a_process_takes_go_on(programs: Programs) -> None:
    sidecar = programs.sidecar()
    programs.process(SERVICE, sidecar)
    chains = [[f"q{number}-{depth}" for depth in range(4)] for number in range(AT_ONCE)]
    answers = relayed(sidecar, chains, "asks")
    assert {answer.status_code for answer in answers} == {200}, next(answer.text for answer in answers if not answer.is_success)


def test_crossed_calls_end_by_their_deadline_and_both_are_usable_after(programs: Programs) -> None:
    # F90: A <-> B
    sidecar = programs.sidecar("--handler-timeout", "1500ms")
    programs.process(SERVICE, sidecar)
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        answers = [coming.result() for coming in [pool.submit(sidecar.http.post, f"/v1/relay/{one}/meet", json=other) for one, other in ("ab", "ba")]]
    assert time.monotonic() - began < 5
    # Whose time is over first is free for the call of the other, whose time is over, too, a moment later.
    assert (504, "TIMEOUT") in {(answer.status_code, answer.json()["code"]) for answer in answers if not answer.is_success}
    assert all(answer.status_code in (200, 504) for answer in answers)
    for name in ("a", "b"):
        assert sidecar.http.post(f"/v1/relay/{name}/relay", json=[]).status_code == 200


def test_a_step_may_call_its_own_instance(http: httpx.Client, one: str) -> None:
    # F90: commands run while steps run
    assert http.post(f"/v1/caller/{one}/start", json="itself").status_code == 204
    # The step's state is a list as a whole: it knows of the note, because it has asked for it.
    assert http.get(f"/v1/caller/{one}/ankka:await").json() == ["from its own step", "itself"]
