"""Which keys the calls of a step or a keyed command have: the same in each attempt, whatever finishes when (W16, F75)."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest

from ankka.calls.call_keys import CallKeys
from ankka.calls.caller import Origin
from ankka.client import ComponentClient
from ankka.codec import EncodingError
from ankka.codecs.canonical import canonical
from ankka.command_error import CommandError
from ankka.protocol import keys
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.payload import TEXT, Payload
from tests.unit.client.keyed import REFUSAL, UNKNOWN, Ledger, Line, answer, token

DONE = Payload(b"7", TEXT)


def started(call: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
    return asyncio.create_task(call)


async def came_to(line: Line, call: Coroutine[Any, Any, Any], reply: Any = DONE) -> tuple[Call, Any]:
    """The call that was sent, and what came of it: a value, or a refusal's code."""
    task = started(call)
    sent = await line.sent()
    answer(line, sent, reply)
    try:
        return sent, await task
    except CommandError as error:
        return sent, error.error.code


def number_of(call: Call) -> int:
    """The number that tells a call of `token()` from its equals."""
    of_visit, told_by = keys.of_visit(token()), canonical(call.input)
    return next(
        number for number in range(1, 100) if keys.of_call(of_visit, call.component, call.instance, call.handler, told_by, number) == call.key
    )


async def test_w16_keys_name_the_visit_and_are_pinned() -> None:
    # they lie in journals: other keys after an upgrade would repeat the calls of steps under way
    line = Line()
    deposit = line.wallet(Origin(attempt=token())).call("deposit")
    first, _ = await came_to(line, deposit.invoke(10, reply=int))
    second, _ = await came_to(line, deposit.invoke(10, reply=int))
    named, _ = await came_to(line, deposit.named("fee").invoke(10, reply=int))
    visit = keys.of_visit(token())
    assert visit.hex() == "7300060a24181e40000fac9b5ebaabf1ba"
    assert [(call.key or b"").hex().removeprefix(visit.hex()) for call in (first, second, named)] == [
        "452e31fbd8e2475b27aa8360497c6c09",
        "eac54cbe0e6d45e7f0b199779152c5eb",
        "9b37c7e06254cd4d8ea6efe1476a1da7",
    ]


async def test_w16_a_call_is_told_by_its_target_handler_and_input() -> None:
    line = Line()
    origin = Origin(attempt=token())
    wallet, other = line.wallet(origin), line.wallet(origin, "w2")
    calls = [
        wallet.call("deposit").invoke(10),
        wallet.call("withdraw").invoke(10),
        wallet.call("deposit").invoke(11),
        other.call("deposit").invoke(10),
    ]
    tasks = [started(call) for call in (*calls, wallet.call("deposit").invoke(), wallet.call("deposit").invoke("10"))]
    await asyncio.sleep(0)
    sent = line.written()
    assert len({call.key for call in sent}) == 6
    assert [number_of(call) for call in sent] == [1, 1, 1, 1, 1, 2], "the number 10 and the text '10' are the same bytes"
    for call in sent:
        answer(line, call, REFUSAL)
    await asyncio.wait(tasks)
    assert [isinstance(task.exception(), CommandError) for task in tasks] == [True] * 6


async def test_w16_another_attempt_has_the_same_keys_and_another_visit_has_not() -> None:
    line = Line()
    sent = [
        (await came_to(line, line.wallet(Origin(attempt=of)).call("deposit").invoke(10, reply=int)))[0]
        for of in (token(1), token(2), token(3), token(1, visit=8))
    ]
    assert sent[0].key == sent[1].key == sent[2].key != sent[3].key
    assert [call.fresh for call in sent] == [True, False, False, True]


async def test_w16_equal_calls_under_way_together_have_the_numbers_from_one() -> None:
    line = Line()
    deposit = line.wallet(Origin(attempt=token())).call("deposit")
    tasks = [started(deposit.invoke(10, reply=int)) for _ in range(3)]
    await asyncio.sleep(0)
    sent = line.written()
    assert [(number_of(call), call.fresh) for call in sent] == [(1, True), (2, True), (3, True)]
    for call in reversed(sent):
        answer(line, call, DONE)
    await asyncio.gather(*tasks)
    last, _ = await came_to(line, deposit.invoke(10, reply=int))
    assert number_of(last) == 4


async def test_w16_an_equal_call_takes_the_lowest_number_that_was_given_back() -> None:
    line = Line()
    deposit = line.wallet(Origin(attempt=token())).call("deposit")
    tasks = [started(deposit.invoke(10, reply=int)) for _ in range(4)]
    await asyncio.sleep(0)
    sent = line.written()
    replies: list[Payload | Error] = [REFUSAL, DONE, REFUSAL, REFUSAL]
    for call, reply in zip(reversed(sent), replies, strict=True):
        answer(line, call, reply)
    await asyncio.wait(tasks)
    assert [isinstance(task.exception(), CommandError) for task in tasks] == [True, True, False, True]
    again = [(await came_to(line, deposit.invoke(10, reply=int)))[0] for _ in range(4)]
    assert [(number_of(call), call.fresh) for call in again] == [(1, False), (2, False), (4, False), (5, True)]


@pytest.mark.parametrize("reply", [REFUSAL, UNKNOWN])
async def test_w16_a_call_that_was_refused_or_is_uncertain_gives_its_number_to_the_next_equal_one(reply: Any) -> None:
    # F42: what a retry loop around the call sends is the same call, and no longer a fresh one
    line = Line()
    deposit = line.wallet(Origin(attempt=token())).call("deposit")
    first, code = await came_to(line, deposit.invoke(10, reply=int), reply)
    again, value = await came_to(line, deposit.invoke(10, reply=int))
    after, _ = await came_to(line, deposit.invoke(10, reply=int))
    assert (code, value) == (reply.code, 7)
    assert [(number_of(call), call.fresh) for call in (first, again, after)] == [(1, True), (1, False), (2, True)]


async def test_w16_a_cancelled_call_gives_its_number_back() -> None:
    line = Line()
    deposit = line.wallet(Origin(attempt=token())).call("deposit")
    other = started(deposit.invoke(10, reply=int))
    first = await line.sent()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await deposit.invoke(10, reply=int)
    cancelled = line.written()[0]
    again, _ = await came_to(line, deposit.invoke(10, reply=int))
    answer(line, first, DONE)
    await other
    assert [number_of(call) for call in (first, cancelled, again)] == [1, 2, 2]
    assert not again.fresh


async def test_w16_a_retry_loop_around_an_uncertain_call_does_it_once() -> None:
    # F42: done, and the reply lost, three times over
    line, ledger = Line(), Ledger()
    deposit = line.wallet(Origin(attempt=token())).call("deposit")

    async def persistent() -> int:
        for _ in range(10):
            try:
                return await deposit.invoke(10, reply=int)
            except CommandError as error:
                assert error.error.details == {"outcome": "unknown"}  # noqa: PT017 - what a retry loop looks at
        raise AssertionError("it never came to an end")

    task = started(persistent())
    for lost in (True, True, True, False):
        sent = await line.sent()
        reply = ledger.do(sent)
        answer(line, sent, UNKNOWN if lost else reply)
        await asyncio.sleep(0)
    assert await task == 0
    assert ledger.effects == Counter({b"10": 1})


async def test_w16_a_reply_that_cannot_be_read_was_a_call_that_was_done() -> None:
    line = Line()
    origin = Origin(attempt=token(2))
    deposit = line.wallet(origin).call("deposit")
    task = started(deposit.invoke(10, reply=int))
    first = await line.sent()
    answer(line, first, Payload(b"seven", TEXT))
    with pytest.raises(EncodingError):
        await task
    second, _ = await came_to(line, deposit.invoke(10, reply=int))
    assert [number_of(call) for call in (first, second)] == [1, 2]
    assert origin.keys is not None
    assert list(origin.keys.done) == [first.key, second.key]


async def test_w16_a_call_that_was_never_sent_keeps_no_number() -> None:
    line = Line()
    origin = Origin(attempt=token(), deadline=0.0)
    _, code = await asyncio.gather(asyncio.sleep(0), line.wallet(origin).call("deposit").invoke(10), return_exceptions=True)
    assert isinstance(code, CommandError)
    assert code.error.code is ErrorCode.UNAVAILABLE
    call, _ = await came_to(line, line.wallet(Origin(attempt=token(), keys=origin.keys)).call("deposit").invoke(10, reply=int))
    assert (number_of(call), call.fresh) == (1, True)


async def test_w16_the_same_name_is_the_same_call_whatever_its_input() -> None:
    line = Line()
    origin = Origin(attempt=token())
    fee = line.wallet(origin).named("fee").call("deposit")
    first, _ = await came_to(line, fee.invoke(10, reply=int))
    again, _ = await came_to(line, fee.invoke(11, reply=int))
    tip, _ = await came_to(line, fee.named("tip").invoke(11, reply=int))
    plain, _ = await came_to(line, line.wallet(origin).call("deposit").invoke(10, reply=int))
    assert [call.fresh for call in (first, again, tip, plain)] == [True, False, True, True]
    assert first.key == again.key
    assert len({call.key for call in (first, tip, plain)}) == 3
    retried, _ = await came_to(line, line.wallet(Origin(attempt=token(2))).call("deposit").named("fee").invoke(12, reply=int))
    assert (retried.key, retried.fresh) == (first.key, False)


async def test_w16_a_name_is_there_only_where_keys_are_derived() -> None:
    line = Line()
    outside = line.wallet(Origin()).call("deposit")
    said = r"\.named\('fee'\) is there only in a step, .*; use \.with_idempotency_key\('fee'\) here"
    for named in (outside, line.wallet(Origin()), line.wallet(Origin(chain=("transfer/t1",)))):
        with pytest.raises(RuntimeError, match=said):
            named.named("fee")
    inside = line.wallet(Origin(attempt=token()))
    with pytest.raises(ValueError, match="at least one character"):
        inside.named("")
    wrong: Any = inside.call("deposit")
    with pytest.raises(TypeError, match="the name of a call is a text, not int 7"):
        wrong.named(7)


async def test_w16_none_opts_out_of_the_derived_key() -> None:
    line = Line()
    origin = Origin(attempt=token(2))
    wallet = line.wallet(origin)
    for deposit in (wallet.call("deposit").with_idempotency_key(None), wallet.with_idempotency_key(None).call("deposit")):
        sent, _ = await came_to(line, deposit.invoke(10, reply=int))
        assert (sent.key, sent.fresh) == (None, False)
    assert origin.keys is not None
    assert not origin.keys.done


async def test_w15_a_key_of_ones_own_is_the_same_wherever_it_is_sent_from() -> None:
    line = Line()
    sent = [
        (await came_to(line, line.wallet(origin).call("deposit").with_idempotency_key("order-7").invoke(10, reply=int)))[0]
        for origin in (Origin(), Origin(attempt=token()), Origin(chain=("transfer/t1",)))
    ]
    assert {call.key for call in sent} == {keys.of_caller("wallet", "w1", "order-7")}
    assert not any(call.fresh for call in sent)
    other, _ = await came_to(line, line.wallet(Origin(), "w2").with_idempotency_key("order-7").call("deposit").invoke(10, reply=int))
    assert other.key == keys.of_caller("wallet", "w2", "order-7") != sent[0].key


async def test_f40_no_key_is_none_and_an_empty_one_is_an_error() -> None:
    line = Line()
    deposit = line.wallet(Origin()).call("deposit")
    for call in (deposit, deposit.with_idempotency_key(None), deposit.with_idempotency_key("k").with_idempotency_key(None)):
        sent, _ = await came_to(line, call.invoke(10, reply=int))
        assert (sent.key, sent.fresh) == (None, False)
    for wrong, said in (
        ("", "at least one character; give None to call without a key"),
        ("a\nb", "printable text"),
        ("\ud800", "printable text"),
        ("ä" * 128, "at most 255 bytes; this one has 256"),
    ):
        with pytest.raises(ValueError, match=said):
            deposit.with_idempotency_key(wrong)
    number: Any = 7
    with pytest.raises(TypeError, match="an idempotency key is a text or None, not int 7"):
        deposit.with_idempotency_key(number)


async def test_w16_copies_leave_the_original_alone() -> None:
    line = Line()
    deposit = line.wallet(Origin(attempt=token())).call("deposit")
    copies = [deposit.named("fee"), deposit.with_idempotency_key("k"), deposit.with_idempotency_key(None)]
    sent = [(await came_to(line, call.with_timeout(timedelta(seconds=1)).invoke(10, reply=int)))[0] for call in (*copies, deposit)]
    assert number_of(sent[3]) == 1
    assert len({call.key for call in sent}) == 4


async def test_w16_the_engines_own_handlers_have_no_key() -> None:
    line = Line()
    origin = Origin(attempt=token(2))
    wallet = line.wallet(origin)
    workflow = ComponentClient.inside(line, origin).for_workflow("transfer", "t2")
    lifecycle, _ = await came_to(line, workflow.lifecycle(), Payload(b"{}"))
    end, _ = await came_to(line, wallet.call("ankka:await").invoke(reply=int))
    by_name, _ = await came_to(line, wallet.with_idempotency_key("k").call("ankka:lifecycle").invoke(reply=int))
    assert [(call.key, call.fresh) for call in (lifecycle, end, by_name)] == [(None, False)] * 3
    assert origin.keys is not None
    assert not origin.keys.done


async def test_w16_a_commands_calls_are_keyed_by_its_own_key() -> None:
    line = Line()

    async def sent(key: bytes, number: int = 1) -> list[Call]:
        origin = Origin(chain=("transfer/t1",), keys=CallKeys.of_command("transfer", "t1", key))
        return [(await came_to(line, line.wallet(origin).call("deposit").invoke(10, reply=int)))[0] for _ in range(number)]

    (first,), (again, second), (other,) = await sent(b"u1"), await sent(b"u1", 2), await sent(b"u2")
    assert first.key == again.key
    assert len({call.key for call in (first, second, other)}) == 3
    assert (first.key or b"")[:1] == keys.COMMAND
    assert not any(call.fresh for call in (first, again, second, other)), "the command may have been run before"
