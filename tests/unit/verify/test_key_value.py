"""`verify` on key value entities: each update has its state, and the record tells the kind."""

from ankka_sidecar.core.events import Deleted, Persisted, Updated
from ankka_sidecar.core.records import EntityRecord, KeyValueRecord
from ankka_sidecar.verify import Bounds

from tests.unit.verify.life import T0, Life, S, encode, key_value_life


def test_a_life_is_clean() -> None:
    assert key_value_life().findings() == []


def test_an_update_without_its_state() -> None:
    life = key_value_life()
    life.change(1, payload=None)
    assert ("I6", "event and state do not go together", 2) in life.findings()


def test_a_record_that_is_not_the_fold() -> None:
    life = key_value_life()
    record = KeyValueRecord(T0 + 9, 1, T0 + 9, None)
    life.change(3, record=encode(record))
    assert ("I6", "the record is not the fold of the events", 1) in life.findings()


def test_another_kinds_event() -> None:
    life = Life("profile", "p", KeyValueRecord()).add(Updated(T0, "set"))
    life.change(0, event=encode(Persisted(T0, "add", ())), type="persisted", payload=None)
    assert ("I6", "the event cannot follow", 1) in life.findings()


def test_an_instance_that_changes_its_kind() -> None:
    life = Life("profile", "p", KeyValueRecord()).add(Updated(T0, "set"), Updated(T0 + 1, "set"))
    life.change(1, record=encode(EntityRecord(T0, 2, T0 + 1)))
    (found,) = [one for one in life.violations() if one.what == "an instance changes its kind"]
    assert (found.expected, found.found, found.sequence) == ("key-value-entity", "event-sourced-entity", 2)


def test_a_listing_without_the_expiry() -> None:
    life = key_value_life()
    life.list_as(deadline=None)
    assert [rule for rule, _, _ in life.findings()] == ["I9"]


def test_an_overdue_expiry_is_a_warning() -> None:
    life = Life("profile", "p", KeyValueRecord()).add(Updated(T0, "lend", expires_at=T0 + S))
    assert [(one.rule, one.warning) for one in life.violations(Bounds(now=T0 + 900 * S))] == [("I11", True)]
    assert life.add(Deleted(T0 + S, "expired")).violations(Bounds(now=T0 + 900 * S)) == []
