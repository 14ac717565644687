"""Which random draws are the same on every process.

From the set-up on, the processes share rank 0's seed, unless the script seeds for itself; where the
training begins, each goes on with random numbers of its own.
"""

from __future__ import annotations

from transpile.facts.events import Branch, Event, Loop
from transpile.plan.flow.entering import set_up_of
from transpile.plan.model import Plan
from transpile.records import dataclass, field
from transpile.rules.pytorch.agreement._divergence import loop_position
from transpile.rules.pytorch.randomness._library_draws import sources_of_libraries
from transpile.rules.pytorch.randomness._seeds import SEEDS, imports
from transpile.rules.pytorch.randomness.vary_random_numbers import training_loop


@dataclass(eq=False)
class Draws:
    """Answers whether what is drawn at an event is equal on all processes."""

    plan: Plan
    seeds: dict[str, list[Event]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plan = self.plan
        set_up = set_up_of(plan)
        self.joined = set_up.order if set_up is not None else 0
        self.loop = training_loop(plan)
        self.varied = loop_position(plan, self.loop)
        self.around = loops_around(plan, self.loop)
        for source, names in SEEDS.items():
            self.seeds[source] = plan.facts.calls_to(*names)

    def joined_before(self, event: Event) -> bool:
        """Whether the processes know each other when an event happens."""
        return event.order >= self.joined

    def equal(self, event: Event, source: str) -> bool:
        """Whether a draw from a source (torch, numpy, random) is equal on all processes."""
        seeds = [seed for seed in self.seeds.get(source, ()) if seed.order < event.order]
        if self.is_late(event):
            return any(
                seed.order >= self.varied or shares_loop(seed, event, self.around) for seed in seeds
            )
        if self.joined_before(event):
            # By then the state of rank 0 is that of all, where the script needs it.
            shared = imports(self.plan, "numpy") or "numpy" in sources_of_libraries(self.plan)
            return bool(seeds) or source != "numpy" or shared
        return any(not any(isinstance(frame, Branch) for frame in seed.stack) for seed in seeds)

    def is_late(self, event: Event) -> bool:
        """Whether the processes have random numbers of their own when an event happens."""
        return event.order >= self.varied or any(
            isinstance(frame, Loop) and id(frame.node) in self.around for frame in event.stack
        )


def loops_around(plan: Plan, loop: Loop | None) -> set[int]:
    """The loops in which the training as a whole is repeated."""
    found: set[int] = set()
    if loop is None:
        return found
    for backward in plan.backwards:
        loops = [frame for frame in backward.event.stack if isinstance(frame, Loop)]
        for position, frame in enumerate(loops):
            if frame.node is loop.node:
                found.update(id(outer.node) for outer in loops[:position])
    return found


def shares_loop(seed: Event, draw: Event, around: set[int]) -> bool:
    """Whether a seed is set anew in each round of a loop around the training."""
    inner = {id(frame.node) for frame in seed.loops()} & around
    return bool(inner & {id(frame.node) for frame in draw.loops()})
