"""Equal values have equal bytes, however they came to be; what was absent when read is written."""

from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, NotRequired, TypedDict

import msgspec
import pytest

from ankka.codec import EncodingError, default_codec_for, json_codec


@dataclass(frozen=True)
class Order:
    order_id: str
    status: str = "new"
    count: int = 0

    @cached_property
    def shown(self) -> str:
        return f"{self.order_id}: {self.status}"


@dataclass(frozen=True, slots=True)
class Slotted:
    order_id: str
    status: str = "new"


def test_a_default_that_was_absent_when_read_is_written() -> None:
    whole = b'{"order_id":"o","status":"new","count":0}'
    order = default_codec_for(Order)
    assert order.encode(order.decode(b'{"order_id":"o"}')) == order.encode(Order("o")) == whole
    orders = default_codec_for(dict[str, list[Order]])
    assert orders.encode(orders.decode(b'{"a":[{"order_id":"o"}]}')) == b'{"a":[' + whole + b"]}"
    optional = default_codec_for(Order | None)
    assert optional.encode(optional.decode(b'{"order_id":"o"}')) == whole
    slotted = default_codec_for(Slotted)
    assert slotted.encode(slotted.decode(b'{"order_id":"o"}')) == b'{"order_id":"o","status":"new"}'


@dataclass
class Numbers:
    n: int = 0
    note: str | None = None
    items: list[int] = field(default_factory=list[int])


@dataclass(frozen=True)
class Sum:
    of: Numbers
    n: int = 1


class Wrapped(msgspec.Struct):
    order: Order
    others: tuple[Order, int] | None = None


class Named(TypedDict):
    order: Order
    other: NotRequired[Order]


@dataclass
class Everywhere:
    one: Order
    many: list[Order]
    pairs: tuple[Order, Slotted]
    rest: tuple[Order, ...]
    by_name: dict[str, Order]
    those: frozenset[Order]
    wrapped: Wrapped
    named: Named
    maybe: Order | None = None
    next: "Everywhere | None" = None


@dataclass
class Tagged:
    """msgspec does not read this one as a whole, only what is in it."""

    whole: Everywhere
    either: Order | Sum


ORDER = b'{"order_id":"o"}'
EVERYWHERE = (
    b'{"one":%s,"many":[%s],"pairs":[%s,%s],"rest":[%s],"by_name":{"k":%s},"those":[%s],"wrapped":{"order":%s,"others":[%s,1]},'
    b'"named":{"order":%s},"maybe":%s}'
) % ((ORDER,) * 11)


def _set_everywhere(value: Any) -> int:
    """Assert that all dataclass instances in a value hold all their fields; how many there are with a `__dict__`."""
    if is_dataclass(value) or isinstance(value, msgspec.Struct):
        names = [one.name for one in fields(value)] if is_dataclass(value) else list(value.__struct_fields__)
        if hasattr(value, "__dict__"):
            assert vars(value).keys() == set(names)
        return hasattr(value, "__dict__") + sum(_set_everywhere(getattr(value, name)) for name in names)
    if isinstance(value, dict):
        return sum(_set_everywhere(item) for item in value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple | frozenset):
        return sum(_set_everywhere(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return 0


@pytest.mark.parametrize(
    ("annotation", "data", "value", "whole"),
    [
        (Numbers, b"{}", Numbers(), b'{"n":0,"note":null,"items":[]}'),
        (Numbers, b'{"n":2}', Numbers(2), b'{"n":2,"note":null,"items":[]}'),
        (Sum, b'{"of":{}}', Sum(Numbers()), b'{"of":{"n":0,"note":null,"items":[]},"n":1}'),
        (Numbers | Sum, b'{"type":"Numbers"}', Numbers(), b'{"type":"Numbers","n":0,"note":null,"items":[]}'),
        (Numbers | None, b"{}", Numbers(), b'{"n":0,"note":null,"items":[]}'),
    ],
)
def test_an_absent_default_is_set_on_the_instance(annotation: Any, data: bytes, value: Any, whole: bytes) -> None:
    codec = default_codec_for(annotation)
    came = codec.decode(data)
    assert came == value
    assert asdict(came) == asdict(value)
    assert vars(came) == vars(value)
    assert codec.encode(came) == whole
    assert msgspec.json.encode(came) == msgspec.json.encode(value)


def test_absent_defaults_are_set_however_deep_the_instance_lies() -> None:
    twice = EVERYWHERE[:-1] + b',"next":' + EVERYWHERE + b"}"
    codec = default_codec_for(Everywhere)
    came = codec.decode(twice)
    assert _set_everywhere(came) == 2 * 11
    assert came.next == replace(came, next=None)
    assert came.one == Order("o")
    assert codec.decode(codec.encode(came)) == came
    assert codec.encode(came).count(b'"count":0') == 2 * 10
    tagged = default_codec_for(Tagged)
    same = tagged.decode(b'{"whole":' + twice + b',"either":{"type":"Order","order_id":"o"}}')
    assert same == Tagged(came, Order("o"))
    assert _set_everywhere(same) == 2 + 2 * 11


def test_a_changed_default_does_not_change_what_was_stored() -> None:
    @dataclass
    class Old:
        n: int = 0

    @dataclass
    class New:
        n: int = 7

    old = default_codec_for(Old)
    stored = old.encode(old.decode(b"{}"))
    assert default_codec_for(New).decode(stored) == New(0)


def test_a_required_field_is_missing_although_a_base_has_a_value_of_its_name() -> None:
    class Plain:
        n = 5

    @dataclass
    class Required(Plain):
        n: int = field()

    @dataclass
    class Whatever:
        n: int

        def __getattr__(self, name: str) -> int:
            return 5

    for cls in (Required, Whatever):
        with pytest.raises(EncodingError, match=f"the required field 'n' of {cls.__name__} is missing") as caught:
            json_codec(cls, "x").decode(b"{}")
        assert caught.value.path == "$.n"


def test_an_absent_default_is_that_of_the_class_and_not_of_its_base() -> None:
    @dataclass
    class Base:
        items: Any = None

    @dataclass
    class Made(Base):
        items: Any = field(default_factory=lambda: [1])

    came = default_codec_for(Made).decode(b"{}")
    assert came == Made()
    assert came.items == [1]


def test_fields_in_slots_of_a_base_are_written() -> None:
    @dataclass(slots=True)
    class Base:
        a: int = 1

    @dataclass
    class Mixed(Base):
        b: int = 2

    codec = default_codec_for(Mixed)
    came = codec.decode(b"{}")
    assert came == Mixed()
    assert vars(came) == {"b": 2}
    assert codec.encode(came) == codec.encode(Mixed()) == b'{"a":1,"b":2}'


def test_absent_defaults_are_set_beside_what_post_init_adds() -> None:
    @dataclass
    class Noted:
        n: int = 0

        def __post_init__(self) -> None:
            self.double = self.n * 2

    codec = default_codec_for(Noted)
    came = codec.decode(b"{}")
    assert vars(came) == {"n": 0, "double": 0}
    assert codec.encode(came) == b'{"n":0}'


def test_a_value_made_without_some_field_of_its_own_is_written_whole() -> None:
    codec = default_codec_for(Order)
    bare = Order.__new__(Order)
    object.__setattr__(bare, "order_id", "o")
    assert codec.encode(bare) == b'{"order_id":"o","status":"new","count":0}'
    # as many attributes as fields, but not the same
    del bare.__dict__["order_id"]
    bare.__dict__.update(order_id="o", status="new", shown="o: new")
    assert codec.encode(bare) == b'{"order_id":"o","status":"new","count":0}'
    assert codec.decode(codec.encode(bare)) == bare
    deep = default_codec_for(dict[str, list[Order]])
    assert deep.encode({"a": [bare]}) == b'{"a":[{"order_id":"o","status":"new","count":0}]}'


def test_what_a_value_has_cached_is_not_written() -> None:
    order = Order("o")
    assert order.shown == "o: new"
    codec = default_codec_for(Order)
    assert codec.encode(order) == codec.encode(replace(order)) == b'{"order_id":"o","status":"new","count":0}'


def test_class_without_fields_is_written_whatever_its_instances_hold() -> None:
    @dataclass
    class Empty:
        pass

    codec = default_codec_for(Empty)
    value = Empty()
    value.__dict__["cached"] = 1
    assert codec.encode(value) == b"{}"
    assert codec.decode(b"{}") == Empty()
