"""Records and events through msgpack, as the journal keeps them (Hypothesis): I6 replay from rows is memory."""

from typing import Any

import msgspec
from ankka_sidecar.core import event_sourced, key_value, workflow
from ankka_sidecar.core.events import (
    Deleted,
    Ended,
    Failed,
    FailedOver,
    Held,
    Interrupted,
    Paused,
    Persisted,
    Released,
    Resumed,
    Retried,
    Sent,
    Started,
    Transitioned,
    Updated,
    decode_event,
    name_of,
)
from ankka_sidecar.core.records import EntityRecord, KeyValueRecord, WorkflowRecord, decode_record, next_place
from hypothesis import given, settings
from hypothesis import strategies as st

from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import Payload, StepTarget
from ankka.protocol.wire import encode_value

NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
INSTANTS = st.integers(0, 2**62)
PAYLOADS = st.builds(Payload, st.binary(max_size=12), NAMES, NAMES)
FIELDS = st.lists(NAMES, max_size=2).map(tuple)
TARGETS = st.builds(StepTarget, NAMES, st.none() | PAYLOADS)
SEQUENCES = st.lists(st.integers(1, 2**40), max_size=3).map(tuple)
ANY_TIME: list[st.SearchStrategy[Any]] = [st.builds(Updated, INSTANTS, NAMES)]
ALIVE: list[st.SearchStrategy[Any]] = [
    st.builds(
        Transitioned,
        INSTANTS,
        TARGETS,
        NAMES,
        redirected=st.booleans(),
        changed=st.booleans(),
        merged=SEQUENCES,
        both=FIELDS,
        trace=st.none() | NAMES,
    ),
    st.builds(Ended, INSTANTS, NAMES, changed=st.booleans(), merged=SEQUENCES, both=FIELDS),
    st.builds(Failed, INSTANTS, NAMES, NAMES, st.none() | NAMES, changed=st.booleans(), merged=SEQUENCES, both=FIELDS),
]
PENDING: list[st.SearchStrategy[Any]] = [
    st.builds(Paused, INSTANTS, NAMES, st.none() | INSTANTS, st.none() | TARGETS, changed=st.booleans(), merged=SEQUENCES, both=FIELDS),
    st.builds(Retried, INSTANTS, NAMES, st.integers(1, 2**31), NAMES, st.none() | INSTANTS),
    st.builds(FailedOver, INSTANTS, NAMES, NAMES, TARGETS),
    st.builds(Interrupted, INSTANTS, NAMES, st.integers(1, 2**31), NAMES, st.booleans(), st.booleans(), st.none() | INSTANTS),
    st.builds(Sent, INSTANTS, NAMES, st.integers(1, 2**31)),
    st.builds(Held, INSTANTS, NAMES, NAMES),
    st.builds(Released, INSTANTS, NAMES, NAMES),
]
STARTS = st.builds(
    Started, INSTANTS, st.integers(1, 100), TARGETS, NAMES, st.none() | INSTANTS, st.none() | INSTANTS, st.booleans(), st.none() | NAMES
)


def possible(record: WorkflowRecord) -> st.SearchStrategy[Any]:
    """The events that may follow."""
    choices = [*ANY_TIME]
    if record.sequence:
        choices.append(st.builds(Deleted, INSTANTS, NAMES))
    if record.is_live:
        choices += ALIVE
    else:
        choices.append(STARTS)
    if record.pending is not None:
        choices += PENDING
    if record.status is LifecycleStatus.PAUSED:
        choices.append(st.builds(Resumed, INSTANTS, TARGETS))
    return st.one_of(choices)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_i6_a_workflow_replayed_from_encoded_events_is_the_one_in_memory(data: Any) -> None:
    record = WorkflowRecord()
    kept = record
    for _ in range(data.draw(st.integers(1, 25))):
        event = data.draw(possible(record))
        place = next_place(record, event.at)
        record = workflow.evolve(record, event)
        encoded = encode_value(event)
        again = decode_event(encoded)
        assert again == event
        assert name_of(again) == msgspec.msgpack.decode(encoded)[0]
        kept = workflow.evolve(kept, again)  # type: ignore[arg-type]
        assert kept == record
        kept = decode_record(encode_value(kept))  # type: ignore[assignment]
        assert kept == record, "the record that lies beside the event is the fold"
        if not isinstance(event, Deleted):
            assert (record.generation, record.sequence) == place, "I1"


ENTITY_EVENTS = st.one_of(
    st.builds(Persisted, INSTANTS, NAMES, st.lists(PAYLOADS, max_size=3).map(tuple), st.none() | INSTANTS),
    st.builds(Deleted, INSTANTS, NAMES, st.lists(PAYLOADS, max_size=3).map(tuple)),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(ENTITY_EVENTS, max_size=20))
def test_i6_an_entitys_record_replayed_from_encoded_events_is_the_one_in_memory(events: list[Any]) -> None:
    record = kept = EntityRecord()
    generations: list[int] = []
    for event in events:
        record = event_sourced.evolve(record, event)
        again = decode_event(encode_value(event))
        assert again == event
        kept = decode_record(encode_value(event_sourced.evolve(kept, again)))  # type: ignore[arg-type, assignment]
        assert kept == record
        if record.sequence == 1:
            generations.append(record.generation)
    assert generations == sorted(set(generations)), "W10: a generation is above any earlier one"


KEY_VALUE_EVENTS = st.one_of(st.builds(Updated, INSTANTS, NAMES, expires_at=st.none() | INSTANTS), st.builds(Deleted, INSTANTS, NAMES))


@settings(max_examples=100, deadline=None)
@given(st.lists(KEY_VALUE_EVENTS, max_size=20))
def test_i6_a_key_value_record_replayed_from_encoded_events_is_the_one_in_memory(events: list[Any]) -> None:
    record = kept = KeyValueRecord()
    generations: list[int] = []
    for event in events:
        record = key_value.evolve(record, event)
        again = decode_event(encode_value(event))
        assert again == event
        kept = decode_record(encode_value(key_value.evolve(kept, again)))  # type: ignore[arg-type, assignment]
        assert (type(kept), kept) == (KeyValueRecord, record)
        if record.sequence == 1:
            generations.append(record.generation)
    assert generations == sorted(set(generations)), "W10: a generation is above any earlier one"
