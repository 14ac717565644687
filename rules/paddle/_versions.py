"""What outputs ask of Paddle."""

from __future__ import annotations

from collections.abc import Iterator

from transpile.plan.model import Plan
from transpile.plan.versions import Need, Versions
from transpile.rules.paddle.static._static import static_of


def needs(plan: Plan) -> Iterator[Need]:
    """What the user's choices and static graphs need beyond the rest."""
    if plan.options.mode == "pserver":
        yield Need("--mode pserver", (2, 6), (3, 0))
    elif plan.options.paddle_api == "parallel" and static_of(plan) is not None:
        yield Need("this static graph", (3, 0))


VERSIONS = Versions("Paddle", (2, 5), needs=needs)
