"""Where a script names a GPU by its number."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.facts.events import Event
from transpile.facts.module import Module
from transpile.facts.values import Argument, Constant, External, Function, Opaque, Unknown, Values
from transpile.plan.graph import called_names
from transpile.plan.model import Plan
from transpile.rules.pytorch.devices._devices import (
    chooses_by_process,
    follows_rank,
    is_device_object,
    is_parameter,
    names_numbered_gpu,
)
from transpile.rules.pytorch.devices._outside import comes_from_outside

MOVING = frozenset({"to", "cuda"})
#: Calls outside of the project whose result is on the device that they are given.
PLACING = ("torch.", "torchvision.", "numpy.")
#: Calls whose first argument is a device.
TAKING_DEVICES = frozenset({"torch.cuda.device", "torch.set_default_device", "torch.Generator"})
#: Calls that say what an attribute of a class is: they give no value.
DESCRIBING = frozenset(
    {"dataclasses.field", "attr.ib", "attr.field", "attrs.field", "pydantic.Field"}
)
#: Looking at a device's name is not using it.
LOOKING = frozenset({"startswith", "endswith", "split", "find", "count", "add_argument"})


def numbered(plan: Plan) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The widest expressions that spell a GPU with its number."""
    seen: set[int] = set()
    for module in plan.facts.modules.values():
        if "cuda:" not in module.source.text:
            continue
        for node in module.source.nodes:
            if not names_numbered_gpu(node) or not plan.facts.values_of(node):
                continue
            widest = widen(plan, module, node)
            if widest is not None and id(widest) not in seen:
                seen.add(id(widest))
                yield module, widest


def widen(plan: Plan, module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """The whole device expression around a name; None where the name is only looked at."""
    current = node
    while True:
        parent = module.source.parent(current)
        if isinstance(parent, cst.IfExp) and current is not parent.test:
            current = parent
        elif isinstance(parent, cst.BooleanOperation):
            current = parent
        elif isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
            return current if compared_with_own(plan, module, current) else None
        elif isinstance(parent, cst.DictElement) and current is parent.key:
            return None
        elif isinstance(parent, cst.Attribute):
            return None
        elif isinstance(parent, cst.Arg):
            call = module.source.parent(parent)
            if not isinstance(call, cst.Call):
                return current
            if called(plan, call, "torch.device"):
                current = call
                continue
            name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
            if name in LOOKING:
                return None
            return current
        else:
            return current


def compared_with_own(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a name is compared with a device of the script, which loses its number, too."""
    comparison = next(
        outer for outer in module.source.parents(node) if isinstance(outer, cst.Comparison)
    )
    if len(comparison.comparisons) != 1:
        return False
    target = comparison.comparisons[0]
    other = target.comparator if node is comparison.left else comparison.left
    return isinstance(target.operator, (cst.Equal, cst.NotEqual)) and any(
        isinstance(value, Constant) and isinstance(value.value, str) and ":" in value.value
        for value in plan.facts.values_of(other)
    )


def called(plan: Plan, call: cst.Call, name: str) -> bool:
    """Whether an expression calls something by its dotted name."""
    return External(name) in plan.facts.values_of(call.func)


def made_devices(plan: Plan) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The calls of ``torch.device`` that may be given a number."""
    for event in plan.facts.calls:
        if External("torch.device") not in event.callee or not reached(event):
            continue
        index = event.arguments.get("index", 1)
        given = event.arguments.get("device", 0) or event.arguments.get("type", 0)
        if index is not None and not is_none(index.values):
            yield event.module, event.node
        elif given is not None and may_be_numbered(given.values):
            yield event.module, event.node


def positions(plan: Plan) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The arguments in the place of a device that may name a GPU by its number."""
    for event in plan.facts.calls:
        if not reached(event):
            continue
        for argument in device_arguments(event):
            node = argument.node
            if node is None or not stands_in(event.module, node):
                continue
            if any(is_device_object(value) for value in argument.values):
                continue
            if event.detached and any(is_parameter(value) for value in argument.values):
                continue
            if may_be_numbered(argument.values, literal_strings=False):
                yield from reads(plan, event.module, node, argument.values)


def reads(
    plan: Plan, module: Module, node: cst.CSTNode, values: Values
) -> Iterator[tuple[Module, cst.CSTNode]]:
    """Where the script takes over what its user chose; the place of use where that is nowhere.

    A number of a GPU means something only once the process has its own: it is followed where it
    is used.
    """
    found: list[tuple[Module, cst.CSTNode]] = []
    chosen = [v for v in values if isinstance(v, Opaque) and comes_from_outside(v)]
    if isinstance(node, cst.Name) and len(chosen) == len(values) and not takes_number(module, node):
        places = [
            (value.module, value.node)
            for value in chosen
            if not DESCRIBING & set(called_names(value))
        ]
        attributes = {value.name for value in chosen if value.kind == "attribute"}
        places += [
            (other, place)
            for other in plan.facts.modules.values()
            for place in (other.source.nodes_of(cst.Attribute) if attributes else ())
            if place.attr.value in attributes
            and any(v is value for v in plan.facts.values_of(place) for value in chosen)
        ]
        seen: set[int] = set()
        for other, place in places:
            taken = stands_in(other, place) and isinstance(
                other.source.parent(place), (cst.Assign, cst.AnnAssign)
            )
            if taken and id(place) not in seen:
                seen.add(id(place))
                found.append((other, place))
    yield from found or [(module, node)]


def takes_number(module: Module, node: cst.CSTNode) -> bool:
    """Whether an argument is that of ``.cuda``, which is mostly given a mere number."""
    call = module.source.parent(module.source.parents(node).__next__())
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "cuda"
    )


def device_arguments(event: Event) -> Iterator[Argument]:
    """The arguments of a call that say on which device something is to be."""
    arguments = event.arguments
    for callee in event.callee:
        if isinstance(callee, Opaque) and callee.kind == "attribute" and callee.name in MOVING:
            found = arguments.get("device", 0)
            if found is not None:
                yield found
            return
        if isinstance(callee, External):
            if callee.name in TAKING_DEVICES:
                found = arguments.get("device", 0)
            elif callee.name == "torch.device" or callee.name == "torch.cuda.set_device":
                return
            elif callee.name.startswith(PLACING):
                found = arguments.keyword("device") or arguments.keyword("map_location")
            else:
                return
            if found is not None:
                yield found
            return


def may_be_numbered(values: Values, literal_strings: bool = True) -> bool:
    """Whether values in the place of a device may be a GPU with its number."""
    for value in values:
        if isinstance(value, Constant):
            if isinstance(value.value, int) and not isinstance(value.value, bool):
                return True
            if literal_strings and isinstance(value.value, str) and ":" in value.value:
                return True
        elif isinstance(value, Unknown) or comes_from_outside(value):
            return True
        elif literal_strings and isinstance(value, Opaque) and value.kind == "operation":
            return True
    return False


def confined(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether a device follows from the process already."""
    if follows_rank(plan.facts.values_of(node)):
        return True
    for outer in module.source.parents(node):
        if isinstance(outer, cst.Call):
            for callee in plan.facts.values_of(outer.func):
                if isinstance(callee, Function) and chooses_by_process(plan, callee):
                    return True
        if isinstance(outer, (cst.BaseCompoundStatement, cst.SimpleStatementLine)):
            break
    return False


def in_location(plan: Plan, module: Module, node: cst.CSTNode) -> bool:
    """Whether an expression is part of what ``torch.load`` is told about places."""
    return any(
        isinstance(outer, cst.Call) and called(plan, outer, "torch.load")
        for outer in module.source.parents(node)
    )


def reached(event: Event) -> bool:
    """Whether the run reaches an event; in the script itself, what nothing calls counts, too."""
    return not event.detached or event.module.is_entry


def is_none(values: Values) -> bool:
    """Whether values are certainly None."""
    return values == (Constant(None),)


def stands_in(module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is part of a module's text."""
    try:
        module.source.span(node)
    except KeyError:
        return False
    return True
