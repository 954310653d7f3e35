"""Programs that a test of the SQLite journal starts beside itself, and how it starts them."""

import subprocess
import sys
from pathlib import Path

HOLD = """
import asyncio, sys
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
async def main():
    journal = await SqliteJournal.open(sys.argv[1])
    if len(sys.argv) > 2:
        journal.tell_address(sys.argv[2])
    await journal.leases().take()
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await journal.close()
asyncio.run(main())
"""
"""Opens the journal, says `open`, and closes it when its input ends."""

APPEND = """
import asyncio, sys
from ankka_sidecar.adapters.faults import FaultAt, NoFaults
from ankka_sidecar.adapters.journal.sqlite import SqliteJournal
from ankka_sidecar.ports.journal import Item, Listing, Row
async def main():
    faults = FaultAt.parse(sys.argv[2]) if sys.argv[2] else NoFaults()
    journal = await SqliteJournal.open(sys.argv[1], faults=faults)
    epoch = (await journal.leases().take()).epochs[7]
    for sequence in range(1, 1_000):
        row = Row("checkout", "a", 100, sequence, sequence, sequence, 7, epoch, "transitioned", b"e", b"r")
        await journal.append([Item(row, Listing("Running", run=sequence))])
        print(sequence, flush=True)
asyncio.run(main())
"""
"""Appends sequences 1, 2, … of one instance under a fault specification, and says each one that is acknowledged."""


def start(program: str, *arguments: str | Path) -> "subprocess.Popen[str]":
    """Run `program` beside the test, its input and output piped."""
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line_of(process: "subprocess.Popen[str]") -> str:
    """The next line it says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: "subprocess.Popen[str]") -> None:
    """Kill it if it runs, and close the pipes."""
    process.kill()
    process.communicate()
