"""What is verified, in the words of the summary, and what a journal alone cannot show."""

from typing import Final

INVARIANTS: Final = {
    "I1": "each place (generation, sequence) is there once, without gaps",
    "I2": "the writer's epoch never falls",
    "I3": "no effect is journalled twice",
    "I4": "an idempotency key has one effect and its reply",
    "I5": "refused work left no event",
    "I6": "each record is the fold of the events; states and snapshots are where they should be",
    "I7": "a run ends at most once, and nothing of it comes later",
    "I8": "one result counts per attempt, the pending one's",
    "I9": "every instance has its listing, with its status and deadline, and the reverse",
    "I10": "retries and failovers are as they happened",
    "I11": "live instances move on",
    "I12": "no call of an attempt runs after that attempt was replaced",
    "shards": "every row is in its instance's shard",
    "decoding": "every row can be decoded and is what it says",
    "time": "time does not fall along a generation",
    "schemas": "every row names a known schema, and an instance is of one kind",
    "file": "the file can be read to its end",
}
"""Every rule a `Violation` may name, and what it asks for."""

NOT_IN_A_JOURNAL: Final = {
    "I5": "what was refused cannot be seen in a journal alone",
    "I12": "calls of replaced attempts cannot be seen in a journal alone",
}
"""Rules that no check here can break, and why."""

ONLY_WARNINGS: Final = {"I11": "only deadlines that have passed can be seen in a journal, as warnings"}
"""Rules that are hardly visible."""
