"""What outputs ask of PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.plan.versions import Need, Versions


def needs(plan: Plan) -> Iterator[Need]:
    """What the user's choices need beyond the rest."""
    if plan.options.strategy == "fsdp":
        yield Need("--strategy fsdp", (2, 6))


VERSIONS = Versions("PyTorch", (1, 10), needs=needs)
