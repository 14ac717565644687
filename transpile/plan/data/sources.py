"""The places that make training loaders, the variables that hold them, the loops over them."""

from __future__ import annotations

import libcst as cst

from transpile.facts.events import Event, Loop
from transpile.facts.module import Module
from transpile.facts.values import (
    Argument,
    Constant,
    Instance,
    Mapping,
    Opaque,
    Sequence,
    Value,
    Values,
    only_constant,
)
from transpile.facts.walk import children
from transpile.plan.flow.places import ancestors, function_of
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.models.holders import Holder, event_of_node, trace
from transpile.records import dataclass

#: Operations that give an iterator over what they are given.
ITERATORS = frozenset({"iterate", "enumerate", "zip"})


@dataclass(eq=False)
class Site:
    """One place in the text that makes training loaders, in one or several contexts."""

    module: Module
    node: cst.Call
    loaders: list[Loader]

    @property
    def loader(self) -> Loader:
        """One of its loaders: their texts are the same."""
        return self.loaders[0]


def sites(plan: Plan) -> list[Site]:
    """The places that make training loaders, in the order of the run."""
    found: dict[int, Site] = {}
    for loader in plan.training_loaders:
        node = loader.node
        if isinstance(node, cst.Call):
            site = found.setdefault(id(node), Site(loader.event.module, node, []))
            site.loaders.append(loader)
    return list(found.values())


def also_evaluates(plan: Plan, site: Site) -> bool:
    """Whether the place makes loaders, too, that no backward pass depends on."""
    return any(loader.node is site.node and not loader.training for loader in plan.loaders)


def is_indirect(plan: Plan, site: Site) -> bool:
    """Whether a loader must be rebuilt once it is finished: its call cannot be changed."""
    return (
        site.loader.foreign
        or also_evaluates(plan, site)
        or in_comprehension(site.module, site.node)
        or may_lack_sampler(plan, site)
        or (takes_unseen(site) and not is_shared(plan, site))
    )


def is_shared(plan: Plan, site: Site) -> bool:
    """Whether the loader is given a sampler that shards its data."""
    argument = site.loader.argument("sampler")
    return argument is not None and any(
        name in plan.table.rank_samplers for value in argument.values for name in made_by(value)
    )


def made_by(value: Value) -> tuple[str, ...]:
    """What a value is called by outside of the project: its maker, or the bases of its class."""
    return value.cls.external_bases() if isinstance(value, Instance) else called_names(value)


def takes_unseen(site: Site) -> bool:
    """Whether the call takes arguments that are not seen, or cannot be changed for it alone."""
    if site.loader.event.arguments.unknown_because:
        return True
    for name in ("shuffle", "drop_last"):
        argument = site.loader.argument(name)
        mapping = argument.mapping if argument is not None else None
        if mapping is not None and any(use is not site.node for use in mapping.uses):
            return True
        if argument is not None and mapping is None and is_bound_elsewhere(site, argument.node):
            return True
    dataset = site.loader.argument("dataset")
    return dataset is not None and is_bound_elsewhere(site, dataset.node)


def is_bound_elsewhere(site: Site, node: cst.CSTNode | None) -> bool:
    """Whether an argument stands in another call, as in that of a ``partial``."""
    return node is not None and not any(arg.value is node for arg in site.node.args)


def may_lack_sampler(plan: Plan, site: Site) -> bool:
    """Whether only the run tells if the loader has a sampler of its own."""
    argument = site.loader.argument("sampler")
    if argument is None:
        return False
    own = [value for value in argument.values if value != Constant(None)]
    if not own or len(own) == len(argument.values):
        return False
    return not any(name in plan.table.rank_samplers for value in own for name in made_by(value))


def holds_others(plan: Plan, holder: Holder) -> bool:
    """Whether a variable of a training loader holds loaders of evaluations, too, at other times."""
    others = {id(loader.value) for loader in plan.loaders if not loader.training}
    held = [plan.facts.values_of(holder.node)]
    if holder.stored:
        # Objects of one class are made for training and for evaluation by the same line.
        held += [one.result for one in plan.facts.events if one.node is holder.node]
    return any(id(value) in others for values in held for value in values)


def variables(plan: Plan, loader: Loader) -> list[tuple[Holder, str]]:
    """The variables that hold a loader on its way to its loops, with the text that names it.

    An entry of a dict is named by its constant key, whatever variable the loop uses for it.
    """
    found: list[tuple[Holder, str]] = []
    for event in loader.iterations:
        node = iterated_expression(plan, loader, event)
        starts = [(event, node)] if node is not None else behind_iterators(plan, loader, event)
        for origin, start in starts:
            for holder in trace(plan.facts, origin.module, start, origin.stack):
                if isinstance(holder.node, cst.Subscript):
                    found.extend(entries(plan, loader, holder))
                else:
                    found.append((holder, holder.text))
    return found


def behind_iterators(
    plan: Plan, loader: Loader, event: Event
) -> list[tuple[Event, cst.BaseExpression]]:
    """What the iterators that a loop was given go through, where they were made."""
    found: list[tuple[Event, cst.BaseExpression]] = []
    for value in walk_back(event.callee, is_iterator):
        if not isinstance(value, Opaque) or not is_iterator(value):
            continue
        if isinstance(value.node, cst.Call) and value.node.args:
            inner = value.node.args[0].value
            if loader.value in plan.facts.values_of(inner):
                found.extend((made, inner) for made in event_of_node(plan.facts, value.node))
    return found


def entries(plan: Plan, loader: Loader, holder: Holder) -> list[tuple[Holder, str]]:
    """The entries of a dict that hold a loader, by the dict's variables."""
    subscript = holder.node
    if not isinstance(subscript, cst.Subscript):
        return []
    keys = [
        key
        for value in plan.facts.values_of(subscript.value)
        if isinstance(value, Mapping)
        for key, entry in value.entries.items()
        if any(held is loader.value for held in entry.values) and isinstance(key, (str, int))
    ]
    if len(keys) != 1:
        return []
    key = keys[0]
    text = f'"{key}"' if isinstance(key, str) else str(key)
    return [
        (base, f"{base.text}[{text}]")
        for base in trace(plan.facts, holder.module, subscript.value, holder.stack)
    ]


def iterated_expression(plan: Plan, loader: Loader, event: Event) -> cst.CSTNode | None:
    """The expression in a loop's head, or in ``iter()``, that is the loader itself."""
    root = head(event)
    pending = [root] if root is not None else []
    seen: set[int] = set()
    while pending:
        current = pending.pop(0)
        if isinstance(current, (cst.Name, cst.Attribute, cst.Subscript)):
            values = plan.facts.values_of(current)
            if loader.value in values:
                return current
            if id(current) not in seen:
                seen.add(id(current))
                pending.extend(iterators(event, values))
        pending.extend(children(current))
    return None


def head(event: Event) -> cst.CSTNode | None:
    """What a loop goes through, or what ``iter()`` and the like are given."""
    node = event.node
    if isinstance(node, (cst.For, cst.CompFor)):
        return node.iter
    if isinstance(node, cst.Call) and node.args:
        return node.args[0].value
    return None


def is_iterator(value: Value) -> bool:
    """Whether a value is an iterator over something else."""
    return isinstance(value, Opaque) and value.kind == "operation" and value.name in ITERATORS


def iterators(event: Event, values: Values) -> list[cst.CSTNode]:
    """The calls in the function of an event that made the iterators which a variable holds."""
    function = function_of(event.module, event.node)
    return [
        value.node
        for value in values
        if isinstance(value, Opaque)
        and is_iterator(value)
        and value.module is event.module
        and isinstance(value.node, cst.Call)
        and function_of(event.module, value.node) is function
    ]


def given(site: Site, name: str) -> Argument | None:
    """The argument for a parameter, unless it is None."""
    argument = site.loader.argument(name)
    if argument is None:
        return None
    constant = only_constant(argument.values)
    if constant is not None and constant.value is None:
        return None
    return argument


def constant_of(argument: Argument | None, default: object) -> object:
    """The constant that an argument is; `default` without it; ``...`` where it is not known."""
    if argument is None:
        return default
    constant = only_constant(argument.values)
    if constant is None or argument.maybe:
        return ...
    return constant.value


def is_simple(node: cst.CSTNode) -> bool:
    """Whether an expression may be written twice: names, attributes, literals."""
    if isinstance(node, (cst.Name, cst.Integer, cst.Float, cst.SimpleString)):
        return True
    if isinstance(node, cst.Attribute):
        return is_simple(node.value)
    if isinstance(node, cst.Subscript):
        return is_simple(node.value) and all(
            isinstance(element.slice, cst.Index) and is_simple(element.slice.value)
            for element in node.slice
        )
    return False


def in_comprehension(module: Module, node: cst.CSTNode) -> bool:
    """Whether an expression stands where no statement can be put before it."""
    function = function_of(module, node)
    for ancestor in ancestors(module, node):
        if ancestor is function:
            return False
        if isinstance(
            ancestor, (cst.ListComp, cst.DictComp, cst.SetComp, cst.GeneratorExp, cst.Lambda)
        ):
            return True
    return False


def epoch_loop(plan: Plan, loader: Loader) -> tuple[Loop, Event] | None:
    """The loop that first repeats passes over a loader, and the event that draws from it."""
    return next(iter(epoch_loops(plan, loader)), None)


def epoch_loops(plan: Plan, loader: Loader) -> list[tuple[Loop, Event]]:
    """The loops that repeat passes over a loader, each with an event that draws from it."""
    found: list[tuple[Loop, Event]] = []
    for backward in plan.backwards:
        if loader not in backward.loaders or backward.batch_loop is None:
            continue
        iteration = backward.iteration
        if iteration is None:
            continue
        for loop in reversed(backward.epoch_loops):
            if is_literal_loop(plan, loop):
                continue
            if not any(loop.node is other.node for other, _ in found):
                found.append((loop, iteration))
            break
    if found:
        return found
    generator = generator_loop(plan, loader)
    return [generator] if generator is not None else []


def generator_loop(plan: Plan, loader: Loader) -> tuple[Loop, Event] | None:
    """The loop that repeats passes over a loader in a generator that hands on its batches."""
    if not any(loader in backward.loaders for backward in plan.backwards):
        return None
    for iteration in loader.iterations:
        function = iteration.function()
        if function is None or not function.is_generator or iteration.detached:
            continue
        for loop in reversed(list(iteration.loops())):
            if not is_literal_loop(plan, loop):
                return loop, iteration
    return None


def is_literal_loop(plan: Plan, loop: Loop) -> bool:
    """Whether a loop goes through a short literal sequence, such as the phases of an epoch."""
    if not isinstance(loop.node, cst.For):
        return False
    values = plan.facts.values_of(loop.node.iter)
    return bool(values) and all(isinstance(value, Sequence) and not value.rest for value in values)


def depends_on_world_size(plan: Plan, values: Values) -> bool:
    """Whether values were computed from the number of processes."""
    return any(
        name in plan.table.world_size_calls
        for value in walk_back(values)
        for name in called_names(value)
    )


def sampler_name(site: Site) -> str:
    """A name for the sampler after that of the loader."""
    parent = site.module.source.parent(site.node)
    if isinstance(parent, cst.Assign) and len(parent.targets) == 1:
        target = parent.targets[0].target
        name = target.attr.value if isinstance(target, cst.Attribute) else ""
        if isinstance(target, cst.Name):
            name = target.value
        for ending in ("_loader", "_dataloader", "loader", "_dl"):
            if name.lower().endswith(ending) and len(name) > len(ending):
                return f"{name[: -len(ending)].rstrip('_')}_sampler".lower()
    return "train_sampler"
