"""Layers that a forward pass may pass over: in one arm of a test, behind a skip, by an index."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from transpile.facts.module import Module
from transpile.facts.values import (
    Constant,
    External,
    Function,
    Instance,
    Mapping,
    Opaque,
    Value,
    Values,
)
from transpile.facts.walk import descendants
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Model, Plan
from transpile.plan.models.parts import walk_parts
from transpile.plan.models.reaches import accessed
from transpile.plan.unused.calls_of_models import one_pass_at_a_time
from transpile.plan.unused.ended_loops import ending, loops_around
from transpile.plan.unused.lengths import Lengths
from transpile.plan.unused.slices import leave_some
from transpile.plan.unused.uses import NO_USES, Uses, own_attribute
from transpile.plan.unused.varying_tests import (
    Arm,
    covers,
    draws_some,
    last_names,
    tests_around,
    varies,
)

#: What draws each of several numbers once: all of them, in some order.
EACH_ONCE = frozenset({"randperm", "permutation"})


def passes_over(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether some forward pass within a model may do without a layer that it has.

    Args:
        plan: the plan.
        model: the model.
        layers: its layers with parameters.
    """
    return used_from_outside(plan, model, layers) or any(
        Passes(plan, part, name, uses[name]).some_without()
        for part, uses in named_layers(model, layers)
        for name in uses
    )


def used_from_outside(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether a layer or parameter is used, but by no method of its own module."""
    return any(
        is_reached_from_outside(plan, part, name)
        for part, uses in named_layers(model, layers)
        for name in set(uses) - uses_inside(uses)
    )


def passes_vary(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether chance or data decides, in each pass anew, which layers it does without.

    Args:
        plan: the plan.
        model: the model.
        layers: its layers with parameters.
    """
    return any(
        Passes(plan, part, name, uses[name]).vary()
        for part, uses in named_layers(model, layers)
        for name in uses
    )


def are_told_layers(plan: Plan, model: Model, layers: list[Value]) -> bool:
    """Whether calls of a module are told which of several layers they use.

    Args:
        plan: the plan.
        model: the model.
        layers: its layers with parameters.
    """
    return any(
        Passes(plan, part, name, uses[name]).are_told()
        for part, uses in named_layers(model, layers)
        for name in uses
    )


def named_layers(model: Model, layers: list[Value]) -> Iterator[tuple[Instance, dict[str, Uses]]]:
    """The modules of a model with the attributes that hold layers, and where these are named."""
    learning = set(map(id, layers))
    for part in walk_parts(model.value):
        if not isinstance(part, Instance):
            continue
        named = {
            name
            for name, values in part.attributes.items()
            if not any(isinstance(value, Constant) for value in values)
            and any(id(inner) in learning for value in values for inner in walk_parts(value))
        }
        uses = Uses.of(part) if named else {}
        yield part, {name: uses.get(name, NO_USES) for name in named}


def uses_inside(uses: dict[str, Uses]) -> set[str]:
    """The attributes that methods other than ``__init__`` name."""
    return {name for name, each in uses.items() if each.used}


def is_reached_from_outside(plan: Plan, part: Instance, name: str) -> bool:
    """Whether a layer or parameter that its own module makes no use of is used elsewhere.

    Where a call of the model is not given what comes of it, the call does without.
    """
    return any(
        isinstance(node, cst.Attribute)
        and node.attr.value == name
        and not (isinstance(node.value, cst.Name) and node.value.value == "self")
        for _, node in accessed(plan).get(id(part), ())
    )


class Passes:
    """Whether passes of a module come by one of its attributes.

    Args:
        plan: the plan.
        part: the module.
        name: the attribute's name.
        uses: where its methods name it.
    """

    def __init__(self, plan: Plan, part: Instance, name: str, uses: Uses) -> None:
        self.plan = plan
        self.part = part
        self.name = name
        self.uses = uses
        self.values = part.attributes[name]

    def some_without(self) -> bool:
        """Whether all uses stand where not every pass comes, or take some of a container."""
        if self.made_in_some_cases():
            return False
        paths: list[tuple[Arm, ...]] = []
        picked: set[object] = set()
        whole = short = False
        for function, node in self.uses.used:
            if self.is_counted(function.module, node):
                continue
            if self.contains():
                if self.is_drawn_from(function.module, node):
                    return True
                if self.lengths.cuts(function.module, node) or self.is_ended(function, node):
                    short = True
                    continue
            taken = self.lengths.cut_out_of(function.module, node)
            if taken is not None and self.contains():
                if self.is_chosen_by_caller(function, taken):
                    if one_pass_at_a_time(self.plan, self.part):
                        return True
                if any(map(self.is_by_chance, self.bounds(taken))):
                    return True
                picked.add(self.index(taken))
                paths.append(self.arms(function.module, node))
                continue
            whole = True
            paths.extend(self.paths(function.module, node))
        if short and not (picked or whole):
            return True
        if picked and not whole and (self.leaves_some(picked) or self.slices_leave_some()):
            return True
        return bool(paths) and all(paths) and not covers(paths)

    def vary(self) -> bool:
        """Whether chance or data decides, in each pass anew, which of them are used."""
        for function, node in self.uses.used:
            module = function.module
            if self.is_counted(module, node):
                continue
            if self.contains():
                if self.is_drawn_from(module, node):
                    return True
                parent = module.source.parent(node)
                if isinstance(parent, cst.Subscript) and parent.value is node:
                    if any(map(self.is_by_chance, self.bounds(parent))):
                        return True
            if self.contains() and any(varies(self.plan, t) for t in ends(module, node)):
                return True
            for place in (node, *(self.called_in_loop(module, node) or ())):
                if any(varies(self.plan, test) for _, test, _ in tests_around(module, place)):
                    return True
        return False

    def are_told(self) -> bool:
        """Whether each pass is told which of several layers it uses."""
        taken = (
            (function, self.lengths.cut_out_of(function.module, node))
            for function, node in self.uses.used
        )
        return self.contains() and any(
            cut is not None and self.is_chosen_by_caller(function, cut) for function, cut in taken
        )

    def is_ended(self, function: Function, node: cst.CSTNode) -> bool:
        """Whether a loop through the layers may be left before it has come to all of them."""
        return any(
            self.decides(test, "else" if arm == "then" else "then")
            for loop in loops_around(function.module, node)
            for test, arm in ending(loop)
        )

    def contains(self) -> bool:
        """Whether the attribute holds several layers, which are called one by one."""
        containers = self.plan.table.layer_containers
        return any(containers.intersection(called_names(value)) for value in self.values)

    def is_counted(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether it is only asked how many layers there are."""
        call = next((p for p in module.source.parents(node) if not isinstance(p, cst.Arg)), None)
        return isinstance(call, cst.Call) and self.plan.facts.values_of(call.func) == (
            External("builtins.len"),
        )

    def is_drawn_from(self, module: Module, node: cst.CSTNode) -> bool:
        """Whether some of the layers are drawn out of all: ``random.choice(self.layers)``."""
        for parent in module.source.parents(node):
            if isinstance(parent, cst.BaseStatement):
                return False
            if isinstance(parent, cst.Call) and parent.func is not node:
                given = {id(value) for value in self.values}
                drawn = self.plan.facts.values_of(parent)
                if any(draws_some(self.plan, value) for value in drawn) and not given.intersection(
                    map(id, drawn)
                ):
                    return True
        return False

    def bounds(self, node: cst.Subscript) -> Iterator[Values]:
        """What the places are that a subscript takes: its index, or the ends of its slice."""
        for element in node.slice:
            part = element.slice
            ends = [part.value] if isinstance(part, cst.Index) else []
            if isinstance(part, cst.Slice):
                ends = [end for end in (part.lower, part.upper) if end is not None]
            yield from map(self.plan.facts.values_of, ends)

    def is_by_chance(self, values: Values) -> bool:
        """Whether places are drawn at random, and not all of them in another order."""
        behind = list(walk_back(values))
        drawn = [value for value in behind if draws_some(self.plan, value)]
        whole = [value for value in drawn if EACH_ONCE.intersection(last_names(value))]
        cut = any(isinstance(v, Opaque) and v.kind == "item" for v in behind)
        return bool(drawn) and (cut or len(whole) < len(drawn))

    def is_chosen_by_caller(self, function: Function, node: cst.Subscript) -> bool:
        """Whether a layer is picked by what each pass is given, and is one of several."""
        if function.name != "forward":
            return False
        given = {
            parameter.name.value
            for parameter in descendants(function.node.params)
            if isinstance(parameter, cst.Param)
        }
        names = {
            inner.value
            for element in node.slice
            for inner in descendants(element)
            if isinstance(inner, cst.Name)
        }
        return bool(given & names) and not isinstance(self.index(node), (int, str))

    def index(self, node: cst.Subscript) -> object:
        """The number by which a layer is picked; None where it goes through all or is not known."""
        part = node.slice[0].slice
        values = self.plan.facts.values_of(part.value) if isinstance(part, cst.Index) else ()
        if len(values) == 1 and isinstance(values[0], Constant):
            return values[0].value
        return None

    def leaves_some(self, picked: set[object]) -> bool:
        """Whether what is picked by fixed numbers or names is certainly not all."""
        if None in picked:
            return False
        for value in self.values:
            given = value.arguments.get("modules", 0) if isinstance(value, Opaque) else None
            for held in given.values if given is not None else ():
                if isinstance(held, Mapping) and not picked.issuperset(held.entries):
                    return True
                elements = getattr(held, "elements", ())
                if getattr(held, "rest", ()) or len(elements) > len(picked):
                    return True
        return False

    def slices_leave_some(self) -> bool:
        """Whether slices of a container do not come by all that is in it, for all that is known."""
        taken = [
            (function.module, subscript)
            for function, node in self.uses.used
            if (subscript := self.lengths.cut_out_of(function.module, node)) is not None
        ]
        return bool(leave_some(taken, self.lengths.falls_short))

    @cached_property
    def lengths(self) -> Lengths:
        """How many layers there are."""
        return Lengths(self.plan, self.part, self.values)

    def paths(self, module: Module, node: cst.CSTNode) -> Iterator[tuple[Arm, ...]]:
        """The arms around a use; of a loop over a container, those around what it goes through."""
        called = self.called_in_loop(module, node)
        if called is None:
            yield self.arms(module, node)
        else:
            yield from (self.arms(module, call) for call in called)

    def called_in_loop(self, module: Module, node: cst.CSTNode) -> list[cst.Call] | None:
        """The calls of what a loop takes from a use; None where no loop goes through it."""
        for parent in module.source.parents(node):
            if isinstance(parent, cst.For) and any(p is node for p in descendants(parent.iter)):
                names = {n.value for n in descendants(parent.target) if isinstance(n, cst.Name)}
                return [
                    inner
                    for inner in descendants(parent.body)
                    if isinstance(inner, cst.Call)
                    and isinstance(inner.func, cst.Name)
                    and inner.func.value in names
                ]
        return None

    def arms(self, module: Module, node: cst.CSTNode) -> tuple[Arm, ...]:
        """The arms of tests that a node stands in, or behind, within its function."""
        found = [
            (id(owner), arm)
            for owner, test, arm in tests_around(module, node)
            if self.decides(test, arm)
        ]
        return tuple(reversed(found))

    def decides(self, test: cst.BaseExpression, arm: str) -> bool:
        """Whether a test may leave out one of its arms in training."""
        for node in descendants(test):
            if own_attribute(node) == self.name or (
                isinstance(node, cst.SimpleString) and node.evaluated_value == self.name
            ):
                return False
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.decides(test.expression, "else" if arm == "then" else "then")
        values = self.plan.facts.values_of(test)
        if isinstance(test, cst.Attribute) and isinstance(test.value, cst.Name):
            if test.attr.value == "training":
                return False
            if test.value.value == "self":
                values = self.part.attributes.get(test.attr.value, values)
        if len(values) == 1 and isinstance(values[0], Constant):
            return bool(values[0].value) is not (arm == "then")
        return True

    def made_in_some_cases(self) -> bool:
        """Whether the layer is made under a test, as the one under which it is used."""
        for function, node in self.uses.made:
            if any(isinstance(each, cst.If) for each in function.module.source.parents(node)):
                return True
            if isinstance(node.value, (cst.IfExp, cst.BooleanOperation, cst.Name)):
                return True
        return False


def ends(module: Module, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The tests that end the loops around a node."""
    for loop in loops_around(module, node):
        yield from (test for test, _ in ending(loop))
