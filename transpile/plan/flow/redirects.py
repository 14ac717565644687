"""Where prints go that stand in a ``with redirect_stdout(...)`` block."""

from __future__ import annotations

from transpile.facts.events import Event, Within
from transpile.facts.values import Opaque, Values
from transpile.plan.graph import called_names

REDIRECT = "contextlib.redirect_stdout"


def redirected_to(event: Event) -> Values:
    """What the innermost block around an event lets prints go to; nothing outside of all."""
    for frame in reversed(event.stack):
        for manager in frame.managers if isinstance(frame, Within) else ():
            if isinstance(manager, Opaque) and REDIRECT in called_names(manager):
                return tuple(one for item in manager.arguments.items[:1] for one in item.values)
    return ()
