"""The listing of instances."""

from __future__ import annotations

from typing import Any

from ankka_sidecar.core.lifecycle import instant
from ankka_sidecar.ports.journal import Found, Query
from ankka_sidecar.runtime.node import Node


def listed(found: Found) -> dict[str, Any]:
    """One instance of a listing."""
    listing = found.listing
    return {
        "component": found.component,
        "id": found.instance,
        "status": listing.status,
        "step": listing.step,
        "run": listing.run,
        "failure": listing.failure,
        "deadline": instant(listing.deadline),
        "updatedAt": instant(found.updated_at),
    }


async def listing(node: Node, query: Query) -> dict[str, Any]:
    """A page of instances."""
    page = await node.journal.find(query)
    return {"items": [listed(found) for found in page.items], "next": page.next}
