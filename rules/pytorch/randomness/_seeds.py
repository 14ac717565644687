"""Where the script's random numbers come from."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Branch, Event, Loop
from transpile.facts.values import External
from transpile.plan.data.sources import Site, is_simple
from transpile.plan.flow.places import function_of
from transpile.plan.graph import called_names, given_by, method_calls
from transpile.plan.model import Plan
from transpile.rules.pytorch.randomness._library_draws import sources_of_libraries

#: What differs from process to process, whatever was seeded.
CHANCE = (
    "random.", "numpy.random.", "time.", "os.urandom", "os.getpid", "uuid.", "secrets.",
    "torch.seed", "torch.rand", "datetime.",
)  # fmt: skip
#: Where random numbers come from, to what seeds it.
SEEDS = {
    "torch": frozenset({"torch.manual_seed", "torch.random.manual_seed"}),
    "numpy": frozenset({"numpy.random.seed"}),
    "random": frozenset({"random.seed"}),
}
SEEDING = ("torch.manual_seed", "random.seed", "numpy.random.seed")


def calls_of_seeding(plan: Plan, *names: str) -> list[Event]:
    """The calls of seeding functions, but for those that the workers of loaders make."""
    wanted = {External(name) for name in names}
    makers = {id(loader.node) for loader in plan.loaders}
    return [
        event
        for event in plan.facts.reached_calls
        if any(callee in wanted for callee in event.callee)
        and not any(id(call.node) in makers for call in event.calls())
    ]


def seeding(plan: Plan, name: str) -> list[Event]:
    """The calls of a seeding function that always happen, once, with the same seed everywhere."""
    return [
        event
        for event in calls_of_seeding(plan, name)
        if not any(isinstance(frame, (Branch, Loop)) for frame in event.stack)
        and not given_by(event, CHANCE)
    ]


def generators_by_chance(plan: Plan) -> set[int]:
    """The generators of a script's own that it seeds by chance, by their identity."""
    return {
        id(receiver)
        for event in plan.facts.reached_calls
        for value in event.result
        for method, receivers in method_calls(value)
        if method == "seed" or (method == "manual_seed" and given_by(event, CHANCE))
        for receiver in receivers
        if "torch.Generator" in called_names(receiver)
    }


def imports(plan: Plan, package: str) -> bool:
    """Whether the script or its project imports a package."""
    return any(
        event.kind == "import" and event.name.split(".")[0] == package
        for event in plan.facts.events
    )


def seeds_everything(plan: Plan) -> bool:
    """Whether the script seeds each source of random numbers that it imports."""
    if not seeding(plan, "torch.manual_seed"):
        return False
    by_libraries = sources_of_libraries(plan)
    for source in ("random", "numpy"):
        used = source in by_libraries or imports(plan, source)
        if used and not any(seeding(plan, name) for name in SEEDS[source]):
            return False
    return True


def seed_text(plan: Plan, site: Site) -> tuple[str, tuple[str, ...]]:
    """The expression for the sampler's seed, and the helpers that it calls.

    The script's own seed where it is a literal or a name that is visible at the loader, else one
    that rank 0 broadcasts.
    """
    calls = seeding(plan, "torch.manual_seed")
    if len(calls_of_seeding(plan, "torch.manual_seed")) != 1:
        calls = []
    if len(calls) == 1 and isinstance(calls[0].node, cst.Call) and len(calls[0].node.args) == 1:
        node = calls[0].node.args[0].value
        module = calls[0].module
        if isinstance(node, cst.Integer):
            return module.source.code(node), ()
        if module is site.module and is_simple(node):
            own = function_of(module, node)
            if own is None or own is function_of(site.module, site.node):
                return module.source.code(node), ()
    return f"{plan.names_in(site.module).fresh('shared_seed')}()", ("shared_seed",)
