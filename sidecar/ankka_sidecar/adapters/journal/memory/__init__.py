"""The journal in memory; see `journal`."""

from ankka_sidecar.adapters.journal.memory.journal import MemoryJournal

__all__ = ["MemoryJournal"]
