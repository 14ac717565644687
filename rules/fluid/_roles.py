"""What a Fluid script is made of: programs that are minimised, runs of executors, feeds."""

from __future__ import annotations

from transpile.facts.events import Event
from transpile.plan.model import Plan
from transpile.plan.query import query
from transpile.records import dataclass
from transpile.rules.fluid._events import calls_method, names_of
from transpile.rules.fluid.gradients._minimizes import Minimize, apart, find_minimizes
from transpile.rules.fluid.programs._runs import Run, find_runs

TRANSPILERS = frozenset(
    {"paddle.fluid.DistributeTranspiler", "paddle.fluid.DistributeTranspilerSimple"}
)
TRAINERS = (
    "paddle.fluid.Trainer",
    "paddle.fluid.trainer.Trainer",
    "paddle.fluid.contrib.Trainer",
    "paddle.fluid.contrib.trainer.Trainer",
)

#: What switches eager mode on.
EAGER = frozenset(
    {
        "paddle.disable_static", "paddle.enable_imperative", "paddle.fluid.enable_imperative",
        "paddle.fluid.enable_dygraph",
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles of a script.

    Args:
        minimizes: what is minimised.
        runs: every run of an executor.
        transpiles: calls that make a program distributed.
        trainers: objects of the time before executors were called by the script itself.
        dygraph: where eager mode is switched on.
    """

    minimizes: tuple[Minimize, ...]
    runs: tuple[Run, ...]
    transpiles: tuple[Event, ...]
    trainers: tuple[Event, ...]
    dygraph: tuple[Event, ...]

    @property
    def minimize(self) -> Minimize | None:
        """The only thing that is minimised; None where there are several or none.

        Of several on different ways through the script, which add to one program, it is the last.
        """
        several = self.minimizes
        if any(
            (one.program, one.startup) != (other.program, other.startup)
            or not apart(one.event, other.event)
            for number, one in enumerate(several)
            for other in several[:number]
        ):
            return None
        return several[-1] if several else None

    @property
    def several(self) -> tuple[Minimize, ...]:
        """What is minimised where each loss has a program of its own, and all one startup program.

        In the order in which they are built; empty where it is otherwise.
        """
        found = sorted(self.minimizes, key=lambda each: each.event.order)
        programs = {each.program.key for each in found if each.program is not None}
        startups = {each.startup.key for each in found if each.startup is not None}
        known = all(each.program is not None and each.startup is not None for each in found)
        apart_from_others = len(programs) == len(found) > 1 and len(startups) == 1
        return tuple(found) if known and apart_from_others else ()

    @property
    def training(self) -> tuple[Run, ...]:
        """The runs that train."""
        keys = {each.program.key for each in self.minimizes if each.program is not None}
        return tuple(
            run
            for run in self.runs
            if any(
                program is None or (program.key in keys and not program.testing)
                for program in run.programs
            )
        )

    def runs_others(self, run: Run) -> bool:
        """Whether the place of a run that trains may run something that does not, too."""
        keys = {each.program.key for each in self.minimizes if each.program is not None}
        return any(
            program is not None and (program.key not in keys or program.testing)
            for other in self.runs
            if other.event.node is run.event.node
            for program in other.programs
        )

    @property
    def starts(self) -> tuple[Run, ...]:
        """The runs that initialise what is minimised."""
        keys = {each.startup.key for each in self.minimizes if each.startup is not None}
        return tuple(
            run
            for run in self.runs
            if any(program is not None and program.key in keys for program in run.programs)
        )


@query
def roles_of(plan: Plan) -> Roles:
    """The roles of a script; found once for all rules."""
    return find_roles(plan)


def find_roles(plan: Plan) -> Roles:
    """See :func:`roles_of`."""
    calls = list(plan.facts.reached_calls)
    return Roles(
        tuple(find_minimizes(plan, calls)),
        tuple(find_runs(plan, calls)),
        tuple(event for event in calls if calls_method(event, "transpile", TRANSPILERS)),
        tuple(event for event in calls if names_of(event) & set(TRAINERS)),
        tuple(event for event in calls if any(is_eager(name) for name in names_of(event))),
    )


def is_eager(name: str) -> bool:
    """Whether a name is of eager mode."""
    return name in EAGER or name.startswith("paddle.fluid.dygraph.")
