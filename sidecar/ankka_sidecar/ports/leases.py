"""Leases: which shards this node owns, under which epoch, and who ran here before."""

from typing import Protocol

import msgspec


class AttachedProcess(msgspec.Struct, frozen=True):
    """A process as the node noted it: enough to know after a restart whether it is dead."""

    boot: str
    host: str
    pid: int
    pid_started: str


class Ownership(msgspec.Struct, frozen=True):
    """What `take` gave: this node's incarnation, its epoch per shard, and the processes of the last owner."""

    incarnation: str
    epochs: dict[int, int]
    processes: tuple[AttachedProcess, ...] = ()


class Leases(Protocol):
    """The port of ownership."""

    async def take(self) -> Ownership:
        """Own all shards this node may own, under an epoch above any earlier one; durable when it returns.

        From then on appends under an earlier epoch are fenced. `processes` are those the last owner noted, or had
        itself taken over when it noted none.
        """
        ...

    async def note_processes(self, processes: tuple[AttachedProcess, ...]) -> None:
        """Note which processes are attached; what `take` of the next incarnation answers.

        Replaces what was noted, also what `take` gave: one of the last owner that may still live has to be in it.
        """
        ...

    async def release(self) -> None:
        """Give everything back: from then on every append is fenced. What was noted stays noted."""
        ...
