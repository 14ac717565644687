"""By which names a loop, or the place that draws batches, reaches a loader and its sampler."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Call, Event, Loop
from transpile.facts.module import Module
from transpile.plan.data.sources import Site, iterated_expression, variables
from transpile.plan.flow.places import ancestors, function_of
from transpile.plan.flow.start import is_main_guard
from transpile.plan.model import Plan
from transpile.plan.models.holders import Holder, bindings, parameters
from transpile.records import dataclass


@dataclass(frozen=True, eq=False)
class Telling:
    """Where and how ``set_epoch`` is called.

    Args:
        site: the loader's call.
        loop: the loop that repeats the passes.
        iteration: the event that draws from the loader.
        loader_text: the loader as the loop's scope names it; None where it has no name there.
        restarts: the drawing begins another pass by itself.
        counted: the sampler counts the passes, as the number of the epoch does not.
    """

    site: Site
    loop: Loop
    iteration: Event
    loader_text: str | None
    restarts: bool = False
    counted: bool = False


def loader_text(plan: Plan, site: Site, loop: Loop, iteration: Event) -> str | None:
    """How the scope of the epoch loop names the loader."""
    if loop not in iteration.stack:
        return None
    function = function_of(loop.module, loop.node)
    depth = loop_depth(loop, iteration)
    for loader in site.loaders:
        for holder, text in variables(plan, loader):
            if holder.module is not loop.module:
                continue
            here = holder.function is function and holder.depth == depth
            if here and not bound_inside(loop, holder):
                found: str = text
                return found
            if holder.function is None and not shadowed(function, holder.text):
                found = text
                return found
    return None


def loop_depth(loop: Loop, event: Event) -> int:
    """How many project calls lead to the scope of a loop around an event."""
    return sum(isinstance(frame, Call) for frame in event.stack[: event.stack.index(loop)])


def bound_inside(loop: Loop, holder: Holder) -> bool:
    """Whether the name is bound only inside the loop, after its top."""
    owner = loop.node
    if not isinstance(owner, (cst.For, cst.While)) or not holder.text.isidentifier():
        return False
    inside = bindings(owner).get(holder.text, [])
    return bool(inside)


def shadowed(function: cst.FunctionDef | None, name: str) -> bool:
    """Whether a function binds a name of its own."""
    return function is not None and (name in parameters(function) or name in bindings(function))


def visible(plan: Plan, data: Telling) -> bool:
    """Whether the sampler's variable can be read at the loop."""
    own = function_of(data.site.module, data.site.node)
    there = function_of(data.loop.module, data.loop.node)
    if data.site.module is not data.loop.module:
        return False
    if own is not there and (own is not None or not made_before(plan, data)):
        return False
    return certainly_made(data, data.loop.module, data.loop.node)


def is_near(data: Telling) -> bool:
    """Whether a loader is made in the function that draws from it, and its sampler seen there."""
    own = function_of(data.site.module, data.site.node)
    there = function_of(data.iteration.module, data.iteration.node)
    near = data.site.module is data.iteration.module and own is there
    return near and certainly_made(data, data.iteration.module, data.iteration.node)


def made_before(plan: Plan, data: Telling) -> bool:
    """Whether the loader is made before the loop first runs, for whatever loader that is."""
    first = min(loader.event.order for loader in data.site.loaders)
    return not any(
        event.order < first and any(frame.node is data.loop.node for frame in event.loops())
        for event in plan.facts.events
    )


def certainly_made(data: Telling, module: Module, place: cst.CSTNode) -> bool:
    """Whether no branch that leaves the loader unmade leads to a place."""
    around = list(ancestors(module, place))
    return all(
        any(node is other for other in around)
        for node in ancestors(data.site.module, data.site.node)
        if isinstance(node, (cst.If, cst.Else, cst.Try, cst.ExceptHandler))
        and not (isinstance(node, cst.If) and is_main_guard(node))
    )


def drawn_from(plan: Plan, data: Telling) -> cst.CSTNode | None:
    """The expression that the batches are drawn from."""
    for loader in data.site.loaders:
        node: cst.CSTNode | None = iterated_expression(plan, loader, data.iteration)
        if node is not None:
            return node
    return None
