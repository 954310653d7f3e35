"""Equal values have equal bytes, however they came to be."""

from dataclasses import dataclass, replace
from functools import cached_property

from ankka.codec import default_codec_for


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


def test_what_a_value_has_cached_is_not_written() -> None:
    order = Order("o")
    assert order.shown == "o: new"
    codec = default_codec_for(Order)
    assert codec.encode(order) == codec.encode(replace(order)) == b'{"order_id":"o","status":"new","count":0}'
