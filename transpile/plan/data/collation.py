"""The functions that make batches of samples, and whether they pad to the longest sample."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transpile.facts.values import (
    BoundMethod,
    Constant,
    Function,
    Instance,
    Opaque,
    Partial,
    Value,
    Values,
)
from transpile.facts.walk import children
from transpile.plan.data.padding_readers import Readers, carries_padding
from transpile.plan.graph import called_names, method_calls, walk_back
from transpile.plan.model import Loader, Plan
from transpile.records import dataclass

#: Functions that give the largest of several numbers.
LONGEST = frozenset({"builtins.max", "numpy.max", "numpy.amax"})


@dataclass(frozen=True)
class Padding:
    """What a framework calls that which pads.

    Args:
        functions: functions that pad, or give the largest of several numbers.
        collators: the beginnings of the names of collators that pad.
        masks: functions, and the last words of methods, that leave padding out.
        masked: what layers and losses call the parameters that say what is padding.
        readers: layers that look at several positions of a sequence.
    """

    functions: frozenset[str]
    collators: tuple[str, ...] = ()
    masks: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    readers: Readers = Readers()

    def has(self, name: str) -> bool:
        """Whether a dotted name is one of them."""
        return name in self.functions or name in LONGEST or name.startswith(self.collators)


def pads(plan: Plan, loader: Loader, padding: Padding) -> bool:
    """Whether the batches of a loader are as long as their longest sample.

    Args:
        plan: the plan.
        loader: the loader.
        padding: what the framework calls that which pads.
    """
    argument = loader.collating
    if argument is None:
        return False
    for value in argument.values:
        if any(padding.has(name) for name in called_names(value)):
            return True
    return any(
        asks_for_the_longest(value, padding)
        for function in functions_of(argument.values)
        for values in returned(plan, function)
        for value in walk_back(values)
    )


def leaves_padding_out(plan: Plan, padding: Padding) -> bool:
    """Whether something in a script says which part of its batches is padding.

    It packs sequences, gives a layer or a loss a mask, or its loss depends on a comparison; and
    no layer carries padding over to what is none.
    """
    return says_what_pads(plan, padding) and not carries_padding(plan, padding.readers)


def says_what_pads(plan: Plan, padding: Padding) -> bool:
    """Whether a script packs sequences, gives a mask, or compares for its loss."""
    for event in plan.facts.reached_calls:
        names = {name for callee in event.callee for name in (getattr(callee, "name", ""),)}
        if names & padding.masks:
            return True
        for item in event.arguments.items:
            said = any(value != Constant(None) for value in item.values)
            if item.keyword in padding.masked and said:
                return True
        if isinstance(event.node, cst.Call) and any(arg.star == "**" for arg in event.node.args):
            if any(isinstance(callee, Opaque) for callee in event.callee):
                # A model of a library that is given whatever the batch has.
                return True
    losses = tuple(value for backward in plan.backwards for value in backward.loss)
    return any(
        isinstance(value, Opaque)
        and value.kind == "operation"
        and isinstance(value.node, cst.Comparison)
        for value in walk_back(losses)
    )


def asks_for_the_longest(value: Value, padding: Padding) -> bool:
    """Whether a call pads, or takes the largest of several numbers."""
    if any(padding.has(name) for name in called_names(value)):
        return True
    if any(name == "max" for name, _ in method_calls(value)):
        return True
    if not isinstance(value, Opaque):
        return False
    asked = value.arguments.keyword("padding")
    return asked is not None and any(
        isinstance(each, Constant) and each.value in (True, "longest") for each in asked.values
    )


def functions_of(values: Values) -> Iterable[Function]:
    """The project's functions among values, through partials, methods and callable objects."""
    for value in values:
        if isinstance(value, Function):
            yield value
        elif isinstance(value, BoundMethod):
            yield value.function
        elif isinstance(value, Partial):
            yield from functions_of(value.callee)
        elif isinstance(value, Instance):
            for cls in value.cls.ancestry():
                names = getattr(getattr(cls, "scope", None), "names", {})
                if "__call__" in names:
                    yield from functions_of(names["__call__"])
                    break


def collated_by(loader: Loader) -> tuple[Function, ...]:
    """The functions of the project that make the batches of a loader."""
    argument = loader.collating
    return tuple(functions_of(argument.values)) if argument is not None else ()


def returned(plan: Plan, function: Function) -> Iterable[Values]:
    """What each return statement of a function gives back."""
    if isinstance(function.node, cst.Lambda):
        yield plan.facts.values_of(function.node.body)
        return
    stack: list[cst.CSTNode] = [function.node.body]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Return) and node.value is not None:
            yield plan.facts.values_of(node.value)
        elif not isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            stack.extend(children(node))
