"""The wallet: an event sourced entity that holds money. Amounts are whole cents, so no sum is ever rounded."""

from dataclasses import dataclass, replace

from ankka.codec import Done, json_codec
from ankka.effects.common import ErrorCode
from ankka.effects.event_sourced import EventSourcedEffect, ReadOnlyEffect
from ankka.event_sourced_entity import EventSourcedEntity, command, query


@dataclass(frozen=True)
class Wallet:
    """What is in a wallet, in cents; nothing can be in one that was never opened."""

    is_open: bool = False
    balance: int = 0


@dataclass(frozen=True)
class Opened:
    """The wallet exists from now on."""


@dataclass(frozen=True)
class Deposited:
    """So many cents came in."""

    amount: int


@dataclass(frozen=True)
class Withdrawn:
    """So many cents went out."""

    amount: int


WalletEvent = Opened | Deposited | Withdrawn


class WalletEntity(EventSourcedEntity[Wallet, WalletEvent]):
    """A wallet, by its id. Deposits and withdrawals answer the balance after them."""

    component_id = "wallet"
    state_codec = json_codec(Wallet, "wallet")
    event_codec = json_codec(WalletEvent, "wallet-event")

    def empty_state(self) -> Wallet:
        return Wallet()

    def apply_event(self, state: Wallet, event: WalletEvent) -> Wallet:
        match event:
            case Opened():
                return replace(state, is_open=True)
            case Deposited(amount):
                return replace(state, balance=state.balance + amount)
            case Withdrawn(amount):
                return replace(state, balance=state.balance - amount)

    @command("open")
    def open(self) -> EventSourcedEffect[Wallet, WalletEvent, Done]:
        """Open it, empty; a second time is refused."""
        if self.state.is_open:
            return self.effects.error(f"wallet {self.entity_id!r} is open already", ErrorCode.CONFLICT)
        return self.effects.persist(Opened()).then_no_reply()

    @command("deposit")
    def deposit(self, amount: int) -> EventSourcedEffect[Wallet, WalletEvent, int]:
        """Put cents in."""
        if not self.state.is_open:
            return self.effects.error(self._unknown, ErrorCode.NOT_FOUND)
        if amount <= 0:
            return self.effects.error(f"an amount of {amount} cannot be deposited; it must be greater than zero")
        return self.effects.persist(Deposited(amount)).then_reply(lambda wallet: wallet.balance)

    @command("withdraw")
    def withdraw(self, amount: int) -> EventSourcedEffect[Wallet, WalletEvent, int]:
        """Take cents out, at most what is in it."""
        if not self.state.is_open:
            return self.effects.error(self._unknown, ErrorCode.NOT_FOUND)
        if amount <= 0:
            return self.effects.error(f"an amount of {amount} cannot be withdrawn; it must be greater than zero")
        if amount > self.state.balance:
            held = self.state.balance
            return self.effects.error(f"insufficient funds: wallet {self.entity_id!r} holds {held}, {amount} are asked for", ErrorCode.CONFLICT)
        return self.effects.persist(Withdrawn(amount)).then_reply(lambda wallet: wallet.balance)

    @query("balance")
    def balance(self) -> ReadOnlyEffect[Wallet, WalletEvent, int]:
        """How many cents are in it."""
        if not self.state.is_open:
            return self.effects.error(self._unknown, ErrorCode.NOT_FOUND)
        return self.effects.reply(self.state.balance)

    @property
    def _unknown(self) -> str:
        return f"there is no wallet {self.entity_id!r}"
