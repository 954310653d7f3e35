"""Tables: columns that fold on a terminal, aligned lines without any cut where the output is a file or a pipe."""

import sys
from collections.abc import Sequence

from ankka.cli.shown import console, on_terminal, shown

STYLES = {"Running": "cyan", "Paused": "yellow", "Completed": "green", "Failed": "red", "failed": "red", "retried": "yellow", "failed-over": "yellow"}
"""Colours of statuses and of events, where there are colours (`NO_COLOR` is respected)."""
GAP = "  "


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print `rows` below `headings`; the cells are users' text and are made harmless here."""
    cells = [[shown(cell) for cell in row] for row in rows]
    if on_terminal():
        _print_rich(headings, cells)
        return
    from rich.cells import cell_len

    lines = [[heading.upper() for heading in headings], *cells]
    widths = [max(cell_len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)]
        sys.stdout.write(GAP.join(padded).rstrip() + "\n")
    sys.stdout.flush()


def _print_rich(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(Text(heading.upper()), overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    console().print(table)
