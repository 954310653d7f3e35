"""Named points at every write and send, where a test may stop, kill or fail the sidecar. Off in production."""

from typing import Final, Protocol

POINTS: Final = (
    "append.before",
    "append.after",
    "command.before-send",
    "query.before-send",
    "step.before-send",
    "step.after-send",
    "step.answered",
    "cancel.before-send",
    "fold.before-send",
    "merge.before-send",
    "fingerprint.before-send",
    "find.before",
    "ack.before-send",
    "reply.before-send",
    "snapshot.before",
    "snapshot.after",
    "prune.before",
    "prune.after",
    "listing.before",
    "commit.before",
    "commit.after",
    "processes.noted",
)
"""All points. `…before` is ahead of the write or send, `…after` behind it and before anything that follows."""


class Faults(Protocol):
    """Called at each point; in production it does nothing."""

    def point(self, name: str) -> None:
        """The runtime is at `name`."""
        ...
