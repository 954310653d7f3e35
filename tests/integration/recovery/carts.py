"""The service of the snapshot tests: a cart that is snapshotted after every second effect."""

from ankka.service import Ankka
from samples.checkout.cart import ShoppingCartEntity


class SnapshottedCart(ShoppingCartEntity):
    """The sample's cart."""

    snapshot_every = 2


if __name__ == "__main__":
    Ankka.service().register(SnapshottedCart).start()
