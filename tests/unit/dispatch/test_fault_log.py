"""What the log of a process shows of a failure: the user's traceback if there is one, else one line."""

import logging
import traceback
from dataclasses import dataclass

import pytest

from ankka.client import CommandError, ComponentClient
from ankka.codec import DONE, Done, json_codec
from ankka.definition.build import definition_of
from ankka.effects.workflow import WorkflowEffect
from ankka.process.dispatch import run_command
from ankka.process.fault_log import log_failure
from ankka.protocol.frames import Refused, RunCommand
from ankka.protocol.payload import Payload
from ankka.workflow import Workflow, command


@dataclass
class Picky:
    text: str

    def __post_init__(self) -> None:
        if not self.text:
            raise LookupError("no text")


class PickyWorkflow(Workflow[Picky]):
    component_id = "picky"
    state_codec = json_codec(Picky, "picky")

    def empty_state(self) -> Picky:
        return Picky("new")

    @command("keep")
    def keep(self) -> WorkflowEffect[Picky, Done]:
        return self.effects.reply(DONE)


def logged(state: bytes, caplog: pytest.LogCaptureFixture) -> logging.LogRecord:
    frame = RunCommand(1, "picky", "p1", "keep", None, Payload(state, manifest="picky"), 1, 1_000_000)
    assert isinstance(run_command(definition_of(PickyWorkflow), frame), Refused)
    (record,) = caplog.records
    return record


def test_what_user_code_raised_below_a_refusal_of_ours_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    record = logged(b'{"text":""}', caplog)
    assert record.getMessage() == "the state of picky/p1 cannot be read: $: Picky refuses it: LookupError: no text"
    assert record.exc_info is not None
    assert repr(record.exc_info[1]) == "LookupError('no text')"


def test_a_refusal_of_ours_alone_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    record = logged(b'{"text":3}', caplog)
    assert record.getMessage() == "the state of picky/p1 cannot be read: $.text: expected str, got int 3"
    assert record.exc_info is None


def test_an_error_that_no_stream_could_write_is_cleaned(caplog: pytest.LogCaptureFixture) -> None:
    log_failure(logging.ERROR, "it failed", ValueError("\ud800"))
    (record,) = caplog.records
    assert record.getMessage() == "it failed\nValueError: \\ud800\n"
    assert record.exc_info is None


class RaisingWorkflow(PickyWorkflow):
    component_id = "raising"

    @command("raise")
    def raises(self) -> WorkflowEffect[Picky, Done]:
        return self.effects.reply(look_up(7))


def look_up(value: object) -> Done:
    raise LookupError(value)


def frames_of(record: logging.LogRecord) -> list[str]:
    assert record.exc_info is not None
    return [frame.name for frame in traceback.extract_tb(record.exc_info[2])]


def test_a_traceback_begins_where_the_users_code_does(caplog: pytest.LogCaptureFixture) -> None:
    frame = RunCommand(1, "raising", "p1", "raise", None, None, 1, 1_000_000)
    assert isinstance(run_command(definition_of(RaisingWorkflow), frame), Refused)
    assert frames_of(caplog.records[0]) == ["raises", "look_up"]


async def test_below_a_refused_call_there_is_nothing_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    async def calls() -> None:
        async with ComponentClient("http://127.0.0.1:9") as client:
            await client.for_workflow("picky", "..").call("keep").invoke()

    with pytest.raises(CommandError) as raised:
        await calls()
    log_failure(logging.WARNING, "it failed", raised.value)
    assert len(raised.traceback) > 2, "the exception itself keeps all of it"
    assert frames_of(caplog.records[0]) == ["test_below_a_refused_call_there_is_nothing_of_ours", "calls"]
    assert "\nankka.command_error.CommandError: BAD_REQUEST: " in caplog.text


def test_what_only_our_code_raised_is_shown_whole(caplog: pytest.LogCaptureFixture) -> None:
    error = RuntimeError("of nobody")
    log_failure(logging.WARNING, "it failed", error)
    assert frames_of(caplog.records[0]) == []
